"""From the command to its answer: a refusal, and `inspect --quick`, beside `python -c "import torch"`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.opening import write_marian
from scripts.browser import ROOT

REPEATS = 5


@dataclass(frozen=True)
class Inspecting:
    """One command, each time in a process of its own, its files in the system's cache.

    Attributes:
        name: of what it does.
        seconds: that the process takes, the median.
        times_torch: the same in imports of torch, which are measured in turn with it.
    """

    name: str
    seconds: float
    times_torch: float


def measure_inspecting(
    *, vocab_size: int = 60_000, d_model: int = 512, repeats: int = REPEATS
) -> list[Inspecting]:
    """Inspect a file that is none, and a random Marian model (300 MB), in turn with the peer."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as name:
        folder = Path(name)
        write_marian(folder / "marian", vocab_size, d_model)
        (folder / "notes.pt").write_text("no weights", encoding="utf-8")
        inspect = ("-m", "transformer", "inspect")
        commands: dict[str, tuple[str, ...]] = {
            "import torch": ("-c", "import torch"),
            "a file that is refused": (*inspect, str(folder / "notes.pt")),
            "--quick": (*inspect, "--quick", str(folder / "marian")),
        }
        times: dict[str, list[float]] = {command: [] for command in commands}
        for _ in range(1 + repeats):  # the first is to warm up
            for command, words in commands.items():
                times[command].append(_seconds(words))
    medians = {command: statistics.median(taken[1:]) for command, taken in times.items()}
    return [
        Inspecting(command, seconds, seconds / medians["import torch"])
        for command, seconds in medians.items()
    ]


def _seconds(words: Sequence[str]) -> float:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode > 1:  # a refusal is 1
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - started
