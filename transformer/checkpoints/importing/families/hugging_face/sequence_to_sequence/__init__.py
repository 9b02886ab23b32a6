"""Translators and other models with both stacks."""
