"""Layouts that users describe themselves: a mapping file names our weight for each tensor."""
