"""Reading anyone's checkpoint without running anything of it.

`process.read_checkpoint` is what the program uses: it starts `python -m transformer.checkpoints.reading`, a
short-lived process with limits that needs the standard library alone.
"""
