"""From a command to its answer: `inspect` of a bad file, and with --quick, against the import of torch."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.measurement import Ratio, Seconds, median_seconds, ratio, seconds_in_turn
from bench.peers.marian import save_random_marian
from bench.setting import Setting
from scripts.browser import ROOT


@dataclass(frozen=True)
class Inspecting:
    """One command, each time in a new process with its files already in the system's cache.

    Attributes:
        command: what it does.
        whole_process: median time.
        times_torch: that time divided by the time of `import torch`.
    """

    command: str
    whole_process: Seconds
    times_torch: Ratio


def measure(setting: Setting) -> list[Inspecting]:
    """Inspect a file without weights, and a random Marian model (300 MB)."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as name:
        folder = Path(name)
        save_random_marian(folder / "marian", smallest=setting.smallest)
        (folder / "notes.pt").write_text("no weights", encoding="utf-8")
        inspect = ("-m", "transformer", "inspect")
        commands = {
            "a file that is refused": (*inspect, str(folder / "notes.pt")),
            "--quick": (*inspect, "--quick", str(folder / "marian")),
        }
        torch, times = seconds_in_turn(
            partial(_run, ("-c", "import torch")),
            [partial(_run, words) for words in commands.values()],
            rounds=1 if setting.smallest else 6,
        )
    return [
        Inspecting(command, median_seconds(taken), ratio(taken, torch))
        for command, taken in zip(("import torch", *commands), (torch, *times), strict=True)
    ]


def _run(words: Sequence[str]) -> None:
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode > 1:  # a refusal is 1
        raise RuntimeError(done.stderr.decode())
