"""What the server may say to a live training, through its standard input."""

ALIVE, STOP = b".", b"s"
"""Somebody is there; save and end."""
