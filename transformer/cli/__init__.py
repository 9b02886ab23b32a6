"""The commands of `python -m transformer`, a module each."""
