"""GPT-2, Llama and related models: decoders only."""
