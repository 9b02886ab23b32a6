"""Values that lessons compute from a run, one topic per file."""
