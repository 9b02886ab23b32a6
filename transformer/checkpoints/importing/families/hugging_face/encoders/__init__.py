"""BERT and related models: encoders only."""
