"""Training runs of tiny models in their own processes: to be killed, to train together, to fill a disk.

The processes are forked from one that has everything imported, so a run takes a fraction of a second.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch._C._distributed_c10d import TCPStore

from transformer.__main__ import main
from transformer.data.tasks import ToyEnIt
from transformer.text.words import WordTokenizer

TINY = (
    "--preset toy --d-model 16 --n-heads 2 --n-encoder-layers 1 --n-decoder-layers 2 --d-ff 24 --max-len 64 "
    "--longest 60 --vocab-size 330 --batch-tokens 200 --steps 20 --warmup 5 --log-every 3 --save-every 4 "
    "--threads 1"
).split()
"""More than two epochs of the pairs of `write_pairs`; the last batches of an epoch are fewer."""

PATIENCE = 60.0
"""Seconds that a busy machine may need for what normally takes one."""

# Whatever is loaded on first use is loaded once for all forks.
for language in ("en", "it"):
    WordTokenizer(language, lowercase=False)
torch.optim.Adam([torch.zeros(1)])
sacrebleu.corpus_bleu(["a"], [["a"]])

_stores: list[TCPStore] = []
"""A store lives as long as it is referenced."""

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload([__name__, "transformer.cli.train"])


def write_pairs(path: Path, n_pairs: int = 120, seed: int = 3) -> Path:
    """Write pairs of the built-in task to a file."""
    pairs = ToyEnIt().held_out(n_pairs, seed)
    lines = ("\t".join((" ".join(pair.source), " ".join(pair.target))) for pair in pairs)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_files(folder: Path) -> list[str]:
    """Write training and validation pairs; returns the options that name them."""
    pairs, valid = write_pairs(folder / "pairs.tsv"), write_pairs(folder / "valid.tsv", 6, seed=4)
    return ["--pairs", str(pairs), "--valid", str(valid)]


class Call:
    """A function in its own process.

    Args:
        function: must be picklable.
        environment: in addition to this process's.
    """

    def __init__(self, function: Callable[[], object], environment: dict[str, str] | None = None) -> None:
        self.process: BaseProcess = _forks.Process(
            target=_call, args=(function, environment or {}), daemon=True
        )
        self.process.start()

    @property
    def said(self) -> str:
        """Output of the process; not captured here."""
        return ""

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for its end; returns the exit status, negative if a signal killed it."""
        self.process.join(seconds)
        assert self.process.exitcode is not None, f"still running:\n{self.said}"
        return self.process.exitcode

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)


class Run(Call):
    """`python -m transformer train` in its own process.

    Args:
        folder: for a file with its output.
        arguments: after "train".
        before: called first in the process, to break something.
        environment: in addition to this process's.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        before: Callable[[], object] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._log = folder / f"run-{time.monotonic_ns()}.log"
        super().__init__(partial(_train, self._log, ["train", *arguments], before), environment)

    @property
    def said(self) -> str:
        """Everything it has printed."""
        return self._log.read_text(encoding="utf-8") if self._log.exists() else ""

    def wait_for(self, is_there: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until `is_there` is true, while the process runs."""
        end = time.monotonic() + seconds
        while not is_there():
            assert self.process.is_alive(), self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.002)


def _call(function: Callable[[], object], environment: dict[str, str]) -> None:
    os.environ.update(environment)
    function()


def _train(log: Path, arguments: list[str], before: Callable[[], object] | None) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if before is not None:
        before()
    sys.exit(main(arguments))


def train(folder: Path, *arguments: str) -> str:
    """Train to the end; returns what was printed."""
    run = Run(folder, *arguments)
    assert run.wait() == 0, run.said
    return run.said


def ranks(n_processes: int) -> list[dict[str, str]]:
    """The environments of processes that train together, as torchrun sets them.

    Like torchrun, this process hosts the store where they meet: a port that was only found to be free could
    be taken by the time they use it.
    """
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    _stores.append(store)
    together = {"WORLD_SIZE": str(n_processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    together["TORCHELASTIC_USE_AGENT_STORE"] = str(True)
    return [together | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(n_processes)]


def state(out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors and the progress of a saved state, without measured times."""
    path = out / "training" / "state.safetensors"
    with safe_open(path, framework="pt") as file:
        progress = json.loads(file.metadata()["progress"])
    timeless = {k: v for k, v in progress.items() if "seconds" not in k and k != "metrics_bytes"}
    return load_file(path), timeless


def metrics(out: Path) -> list[dict[str, Any]]:
    """The lines of the metrics, without measured times."""
    lines = (out / "training" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if "second" not in name} for line in lines
    ]
