"""Training, from data and options to a finished model: on the command line, or live in the app."""
