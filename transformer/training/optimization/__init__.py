"""Optimization: loss, learning rate schedules, Adam, and parallel processes."""
