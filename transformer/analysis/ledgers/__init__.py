"""Ledgers: a number of a run as an exact sum over the parts of the model that it was made of."""
