"""Layouts that users describe themselves: a mapping file says which of our weights each tensor is."""
