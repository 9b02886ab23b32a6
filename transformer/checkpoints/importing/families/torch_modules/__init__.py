"""Modules that users wrote in PyTorch, as bare state dicts: what they don't reveal is asked."""
