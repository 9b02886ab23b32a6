"""Views that run in the browser: one folder each, with a typed function, a script and a style sheet."""
