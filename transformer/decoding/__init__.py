"""Decoding: greedy, beam search, sampling."""
