"""Pickles read without running anything: the interpreter, its values, and a trainer's weights in them."""
