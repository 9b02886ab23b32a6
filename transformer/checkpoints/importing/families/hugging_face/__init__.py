"""Layouts of Hugging Face's transformers: a config.json says most of what the weights don't."""
