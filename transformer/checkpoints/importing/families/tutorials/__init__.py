"""Transformers that people learn from, written out in PyTorch: one module per repository."""
