"""Opening a Hugging Face folder: seconds and peak memory, ours and transformers' `from_pretrained`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from bench.measurement import Bytes, Ratio, Seconds, in_turn, median_seconds, ratio
from bench.peers.marian import save_random_marian
from bench.setting import Setting
from scripts.browser import ROOT

Opener = Literal["Headlight", "transformers"]


@dataclass(frozen=True)
class Opening:
    """One way to open a folder, each time in a new process with the files already in the system's cache.

    Attributes:
        opener: ours or theirs.
        model_size: size of the weights on disk.
        opened: median time until the model is ready; the libraries are imported beforehand.
        times_faster: than transformers.
        one_sentence_run: median time until a sentence has run through it; mapped weights are read only then.
        whole_process: median time, including imports.
        memory_before: memory before the folder is opened: only Python and the libraries.
        at_its_peak: peak memory of the process and its children in any round, including libraries.
        times_the_model: the peak divided by the model's size.
    """

    opener: Opener
    model_size: Bytes
    opened: Seconds
    times_faster: Ratio | None
    one_sentence_run: Seconds
    whole_process: Seconds
    memory_before: Bytes
    at_its_peak: Bytes
    times_the_model: float


def measure(setting: Setting) -> list[Opening]:
    """Make a random Marian model (300 MB) and open it both ways."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as name:
        folder = Path(name)
        save_random_marian(folder, smallest=setting.smallest)
        size = Bytes(sum(file.stat().st_size for file in folder.glob("*.safetensors")))
        open_ours, open_theirs = (
            partial(_in_a_process, name, folder) for name in ("Headlight", "transformers")
        )
        ours, [theirs] = in_turn(open_ours, [open_theirs], rounds=1 if setting.smallest else 4)
    faster = ratio([run["opened"] for run in theirs], [run["opened"] for run in ours])
    return [_summary("Headlight", size, ours, faster), _summary("transformers", size, theirs, None)]


def _summary(
    opener: Opener, size: Bytes, runs: Sequence[Mapping[str, float]], faster: Ratio | None
) -> Opening:
    def seconds(name: str) -> Seconds:
        return median_seconds([run[name] for run in runs])

    def most(name: str) -> Bytes:
        return Bytes(max(run[name] for run in runs))

    return Opening(
        opener=opener,
        model_size=size,
        opened=seconds("opened"),
        times_faster=faster,
        one_sentence_run=seconds("run"),
        whole_process=seconds("process"),
        memory_before=most("before"),
        at_its_peak=most("peak"),
        times_the_model=round(most("peak") / size, 2),
    )


def _in_a_process(opener: str, folder: Path) -> dict[str, float]:
    """Run `bench.opener`; return what it measures and the seconds of its whole process."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bench.opener", opener, str(folder)],
        cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    process = time.perf_counter() - started
    return json.loads(done.stdout.splitlines()[-1]) | {"process": process}
