"""The process of a live training run in tests: normal priority and few held-out sentences."""

import os
import sys
from pathlib import Path

from transformer.training.live import worker

if __name__ == "__main__":
    worker.NICENESS, worker.N_HELD_OUT = 0, 3
    worker.work(Path(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)
