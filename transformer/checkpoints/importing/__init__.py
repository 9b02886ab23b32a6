"""Import of models from other implementations: recognising, configuring, renaming, reporting."""
