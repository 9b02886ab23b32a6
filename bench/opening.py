"""Opening a folder of Hugging Face's: seconds and peak memory, ours and transformers' `from_pretrained`."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from bench.memory import PeakMemory
from scripts.browser import ROOT

Opener = Literal["Headlight", "transformers"]
OPENERS: tuple[Opener, ...] = ("Headlight", "transformers")
REPEATS = 3


@dataclass(frozen=True)
class Opening:
    """One way to open one folder, each time in a process of its own, its files in the system's cache.

    Attributes:
        name: of the opener.
        model_bytes: of the weights on disk.
        seconds: until there is a model, the median; the libraries are there before.
        first_run: seconds until one sentence went through it, the median: mapped weights are read only then.
        process: seconds that the whole process takes, the libraries' import included, the median.
        peak_bytes: the most memory of the process and of those that it started, libraries included; the most
            of all repeats.
        before_bytes: memory before the folder is opened: Python and the libraries alone.
    """

    name: Opener
    model_bytes: int
    seconds: float
    first_run: float
    process: float
    peak_bytes: int
    before_bytes: int

    @property
    def times_size(self) -> float:
        """The peak memory in sizes of the model."""
        return self.peak_bytes / self.model_bytes


def measure_opening(*, vocab_size: int = 60_000, d_model: int = 512, repeats: int = REPEATS) -> list[Opening]:
    """Make a random Marian model (six layers a stack: 300 MB) and open it in both ways, in turn."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        write_marian(Path(folder), vocab_size, d_model)
        runs: dict[Opener, list[Opening]] = {opener: [] for opener in OPENERS}
        for _ in range(repeats):
            for opener in OPENERS:
                runs[opener].append(_in_a_process(opener, Path(folder)))
    return [_summary(runs[opener]) for opener in OPENERS]


def write_marian(folder: Path, vocab_size: int, d_model: int) -> None:
    """Save a random translation model as Hugging Face's are: config.json and model.safetensors."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * d_model,
        decoder_ffn_dim=4 * d_model,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=vocab_size - 1,
        eos_token_id=0,
        decoder_start_token_id=vocab_size - 1,
        forced_eos_token_id=0,
    )
    MarianMTModel(config).save_pretrained(folder)


def _summary(runs: list[Opening]) -> Opening:
    return replace(
        runs[0],
        seconds=statistics.median(run.seconds for run in runs),
        first_run=statistics.median(run.first_run for run in runs),
        process=statistics.median(run.process for run in runs),
        peak_bytes=max(run.peak_bytes for run in runs),
        before_bytes=max(run.before_bytes for run in runs),
    )


def _in_a_process(opener: Opener, folder: Path) -> Opening:
    """What a process of its own measured, with the seconds that it took in all."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench.opening", opener, str(folder)],
        cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    process = time.perf_counter() - started
    return Opening(**json.loads(done.stdout.splitlines()[-1]) | {"process": process})


@torch.inference_mode()
def _once(opener: Opener, folder: Path) -> Opening:
    """Open a folder in this process and run one sentence; the libraries are imported before."""
    model_bytes = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    ids = torch.arange(5, 21)[None]
    if opener == "Headlight":
        from transformer.checkpoints.opening import open_checkpoint

        with PeakMemory() as memory:
            started = time.perf_counter()
            loaded = open_checkpoint(folder).loaded
            opened = time.perf_counter()
            assert loaded is not None
            loaded.model(ids, ids)
            run = time.perf_counter()
    else:
        from transformers import MarianMTModel

        with PeakMemory() as memory:
            started = time.perf_counter()
            model = MarianMTModel.from_pretrained(folder)
            opened = time.perf_counter()
            model.train(mode=False)
            model(input_ids=ids, decoder_input_ids=ids)
            run = time.perf_counter()
    times = opened - started, run - started, 0.0  # how long the process takes it can't know
    return Opening(opener, model_bytes, *times, memory.peak, memory.before)


if __name__ == "__main__":
    chosen: Opener = "Headlight" if sys.argv[1] == "Headlight" else "transformers"
    print(json.dumps(asdict(_once(chosen, Path(sys.argv[2])))))
