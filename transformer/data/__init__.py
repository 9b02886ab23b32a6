"""What models learn from: files of sentence pairs, made-up pairs, and batches of ids."""
