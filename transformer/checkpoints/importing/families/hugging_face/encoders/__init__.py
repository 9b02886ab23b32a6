"""BERT and its kin: encoders alone."""
