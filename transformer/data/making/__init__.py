"""Sentence pairs that are made, for what a corpus of everyday sentences lacks: names, numbers, rare words, length."""
