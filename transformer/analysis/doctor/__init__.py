"""Diagnoses problems of a model: one subject per file; `examine` runs all checks."""
