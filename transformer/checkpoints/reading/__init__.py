"""Reading anyone's checkpoint without running anything of it.

`opening.survey` and `opening.read_checkpoint` are what the program uses; both start `python -m
transformer.checkpoints.reading`, a short-lived process with limits that needs the standard library alone.
"""
