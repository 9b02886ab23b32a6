"""Translators and other encoder-decoder models."""
