"""Readers for the supported weight formats, and descriptions of unsupported ones."""
