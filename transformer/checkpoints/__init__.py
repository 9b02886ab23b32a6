"""Saving models and opening them again."""
