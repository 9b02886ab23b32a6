"""Trainings that people start and watch while they run: each in a process of its own."""
