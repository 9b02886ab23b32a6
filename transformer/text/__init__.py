"""Typed text to token ids, and back."""
