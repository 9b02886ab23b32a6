"""Layouts described in YAML files: how they are read, and what they say about a checkpoint."""
