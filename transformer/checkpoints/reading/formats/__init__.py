"""The formats of files of weights: those that are read, and how others are told apart."""
