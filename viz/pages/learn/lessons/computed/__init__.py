"""What lessons compute of a run, a subject per file."""
