"""How well a model does: translations and their scores, and what the built-in tasks know to be right."""
