"""Evaluation of models: translations, their scores, and the gold answers of built-in tasks."""
