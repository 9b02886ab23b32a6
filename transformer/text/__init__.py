"""Typed text to tokens and ids, and back."""
