"""Opens a Hugging Face folder in a process that has imported nothing else, for bench.parts.opening."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from bench.memory import PeakMemory

Forward = Callable[[torch.Tensor], object]


@torch.inference_mode()
def measure_once(opener: str, folder: Path) -> dict[str, float]:
    """Open a folder in this process and run one sentence; return seconds and bytes."""
    open_folder = _ours(folder) if opener == "Headlight" else _theirs(folder)
    ids = torch.arange(5, 21)[None]
    with PeakMemory() as memory:
        started = time.perf_counter()
        run = open_folder()
        opened = time.perf_counter()
        run(ids)
        over = time.perf_counter()
    return {
        "opened": opened - started,
        "run": over - started,
        "before": memory.before,
        "peak": memory.peak,
    }


def _ours(folder: Path) -> Callable[[], Forward]:
    """Import what is needed, and return a function that opens the folder and returns its forward pass."""
    from transformer.checkpoints.opening import open_checkpoint

    def open_folder() -> Forward:
        loaded = open_checkpoint(folder).loaded
        assert loaded is not None
        model = loaded.model
        return lambda ids: model(ids, ids)

    return open_folder


def _theirs(folder: Path) -> Callable[[], Forward]:
    """The same for transformers."""
    from transformers import MarianMTModel

    def open_folder() -> Forward:
        model = MarianMTModel.from_pretrained(folder)
        model.train(mode=False)
        return lambda ids: model(input_ids=ids, decoder_input_ids=ids)

    return open_folder


if __name__ == "__main__":
    print(json.dumps(measure_once(sys.argv[1], Path(sys.argv[2]))))
