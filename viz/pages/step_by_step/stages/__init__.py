"""The stages of a sentence's way through a model, each with its numbers, formula and lines of code."""
