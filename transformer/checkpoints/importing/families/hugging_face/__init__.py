"""Layouts in Hugging Face's transformers: config.json has most settings that the weights lack."""
