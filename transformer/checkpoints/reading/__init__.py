"""Reads untrusted checkpoints without running any code from them.

The entry point is `process.read_checkpoint`: it starts `python -m transformer.checkpoints.reading`, a
short-lived process with resource limits that needs only the standard library.
"""
