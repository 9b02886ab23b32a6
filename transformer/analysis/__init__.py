"""Labelled arrays computed from the trace of a run, and ``doctor``, which examines a checkpoint."""
