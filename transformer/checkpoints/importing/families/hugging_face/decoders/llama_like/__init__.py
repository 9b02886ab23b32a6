"""Llama, and models with the same or nearly the same names."""
