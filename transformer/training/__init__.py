"""Training: from data and choices to a finished model, on the command line or live in the app."""
