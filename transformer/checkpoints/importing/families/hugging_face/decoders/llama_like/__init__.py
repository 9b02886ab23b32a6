"""Llama and models with its names, or nearly."""
