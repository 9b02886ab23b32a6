"""BERT and other encoder-only models."""
