"""Diagnoses what is wrong with a model: one subject per file; `examine` runs them all."""
