"""Evaluates models: translations, their scores, and the built-in tasks' gold answers."""
