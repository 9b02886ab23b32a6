"""A command in a process of its own, which is killed at a chosen change of a file.

The processes are forked from one that has everything imported, so most of their time is the command's.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from ctypes import c_long
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from transformer.__main__ import main as run_command
from transformer.text.words import WordTokenizer

PATIENCE = 120.0
"""Seconds that a busy machine may need for what takes a few."""
NEVER = 10**9
"""More changes of files than any command makes."""
_CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"}
"""Python's audit events of calls that may change a file; syncs are counted too."""

# Whatever is loaded on first use is loaded once for all forks.
for _language in ("en", "it"):
    WordTokenizer(_language, lowercase=False)
torch.optim.Adam([torch.zeros(1)])
torch.set_num_threads(1)  # with more, sums are rounded in another order
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [__name__, "transformer.cli.train", "transformer.cli.analyze", "headlight.pages"]
)


class KillError(AssertionError):
    """A killed command left something that is neither whole nor what was there before."""


def run_killed(arguments: list[str], number: int, micros: int) -> tuple[int, str, int]:
    """Run a command that dies at its n-th change of a file: its exit status, output and number of changes."""
    n_changes = _forks.RawValue("l", 0)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "said"
        process = _forks.Process(target=_die, args=(arguments, number, micros, log, n_changes), daemon=True)
        process.start()
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise KillError(f"{' '.join(arguments)} did not end in {PATIENCE:.0f} s")
        return process.exitcode, log.read_text(encoding="utf-8"), n_changes.value


def _die(arguments: list[str], number: int, micros: int, log: Path, n_changes: c_long) -> None:
    """Run a command whose process is killed at its n-th change of a file, or so many microseconds later."""
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    place = str(Path(arguments[-1]).parent)
    sync = os.fsync
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process at once, like SIGKILL

    def change() -> None:
        n_changes.value += 1
        if n_changes.value == number:
            if micros:
                signal.setitimer(signal.ITIMER_REAL, micros / 1e6)
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, details: tuple[Any, ...]) -> None:
        if event == "open" and not (details[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        if event in _CHANGES and str(details[0]).startswith(place):
            change()

    def counted(file: Any) -> None:
        change()
        sync(file)

    patch.object(os, "fsync", counted).start()
    sys.addaudithook(heard)
    sys.exit(run_command(arguments))
