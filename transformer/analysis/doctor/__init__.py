"""What is wrong with a model: one subject per file, all of them in `examine`."""
