"""A run in the form that the viewer in the browser reads: as frames, for the app, a notebook and a file."""
