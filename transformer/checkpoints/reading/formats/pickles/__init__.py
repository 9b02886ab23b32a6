"""Reads pickles without running code: the interpreter, its values, and the weights that trainers save."""
