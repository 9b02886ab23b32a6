"""Transformers of tutorials, written out in PyTorch: one module per repository."""
