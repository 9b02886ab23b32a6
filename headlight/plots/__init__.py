"""Every figure of Headlight as a function: a run in, a plotly figure out."""
