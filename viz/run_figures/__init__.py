"""Figures of a run: each function extracts what it draws, for the app and `headlight.plot_*`."""
