"""Training: updates, their state on disk, and whole runs over a corpus."""
