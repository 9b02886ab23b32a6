"""Interventions: a run with some of its tensors changed, and what that does to the output."""
