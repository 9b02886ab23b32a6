"""What is wrong with a model, and what it is made of: one subject per file, all of them in `examine`."""
