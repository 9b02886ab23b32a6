"""Views that run in the browser: a typed function each, with its script and its style beside it."""
