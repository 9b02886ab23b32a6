"""Coders for the tokenizers of other libraries' checkpoints, opened by `coders.coders_of`."""
