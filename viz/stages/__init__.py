"""The stages of a sentence's way through a model: each with its numbers, its formula and its lines of code."""
