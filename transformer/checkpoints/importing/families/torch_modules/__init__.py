"""Modules that users wrote in PyTorch, with a state dict alone: what it does not tell is asked."""
