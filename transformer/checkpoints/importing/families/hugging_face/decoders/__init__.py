"""GPT-2, Llama and their kin: decoders alone."""
