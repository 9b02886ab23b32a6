"""Answers with everything that determines their numbers, so that they can be computed again."""
