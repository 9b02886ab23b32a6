"""Labelled arrays computed from a run's trace, and ``doctor``, which examines a checkpoint."""
