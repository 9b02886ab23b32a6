"""Pickles read without running any: the machine, its values, and what a trainer saved in them."""
