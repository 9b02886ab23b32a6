"""Figures of a run: each function reads the arrays and labels it draws, for pages and `headlight.plot_*`."""
