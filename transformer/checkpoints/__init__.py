"""Saves and opens models."""
