"""Converts typed text to token ids and back."""
