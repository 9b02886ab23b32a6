"""Views that run in the browser: a folder each, with a typed function, a script and a style sheet."""
