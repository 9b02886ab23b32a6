"""The commands of `python -m transformer`, one module each."""
