"""GPT-2, Llama and other decoder-only models."""
