"""Llama and the models that have its names, or nearly."""
