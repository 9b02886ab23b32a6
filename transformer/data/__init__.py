"""Training data: files of sentence pairs, built-in tasks, and batches of ids."""
