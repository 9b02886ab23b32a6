"""Shared by all views: packing and sending their data in Python, base classes and helpers in the browser."""
