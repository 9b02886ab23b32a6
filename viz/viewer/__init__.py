"""A run as the viewer holds it in the browser: in frames, for the app, a notebook and a file."""
