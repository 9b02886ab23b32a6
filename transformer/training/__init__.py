"""Training: from data and choices to a finished model, on the command line and while somebody watches."""
