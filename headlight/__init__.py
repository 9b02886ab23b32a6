"""Headlight, as other programs see it; ``browser`` holds the built scripts of the views."""
