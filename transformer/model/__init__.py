"""The Transformer of the paper, and only it: a description, its parts, and the tap that looks into it."""
