"""What is wrong with a model, and what it is made of: one subject a file, all of them in `examine`."""
