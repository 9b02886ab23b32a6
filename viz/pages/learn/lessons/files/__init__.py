"""A lesson as a file, and a reader's saved answers."""
