"""Kills commands that write files, a thousand times: what they leave is whole, or what was there before.

A moment is the n-th change of a file, or some microseconds after it, so it is about the same on every machine
and may be in the middle of a write. A killed command is started again, as a user would, until it ends; what
it then has written must be what it writes undisturbed.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.torch import load_file

from scripts.killing import NEVER, KillError, run_killed
from transformer.checkpoints.folder import open_saved
from transformer.data.encoded import EncodedCorpus
from transformer.data.tasks import ToyEnIt
from transformer.errors import CheckpointError

MODEL = "toy-en-it"
TRAIN = (
    "--preset toy --d-model 16 --n-heads 2 --n-encoder-layers 1 --n-decoder-layers 1 --d-ff 24 --max-len 64 "
    "--longest 60 --vocab-size 330 --batch-tokens 400 --steps 9 --warmup 5 --log-every 2 --save-every 3 "
    "--validate-every 4 --snapshots 3 --average 2"
).split()
MIDDLE_MICROSECONDS = 2_000
"""The longest time between a change of a file and a kill in what follows it: longer than any one write."""
_PART = ".part"
_TIMED = ("seconds", "tokens_per_second")
"""Measured values in the metrics of a training run."""


@dataclass(frozen=True)
class Case:
    """A command that writes files, and what was there before it.

    Attributes:
        before: the arguments of the command that wrote earlier files to the same place; empty for none.
        command: the arguments; both end with the option that names the place.
        name: the file or folder in the working folder that it writes to.
        resumes: the command continues a killed one with `--resume`.
    """

    before: tuple[str, ...]
    command: tuple[str, ...]
    name: str
    resumes: bool = False


def cases(folder: Path) -> dict[str, Case]:
    """The commands, with their inputs written to a folder."""
    files, other = _write_pairs(folder / "pairs.tsv", 60, 3), _write_pairs(folder / "other.tsv", 60, 8)
    few, fewer = _write_pairs(folder / "few.tsv", 6, 4), _write_pairs(folder / "fewer.tsv", 4, 5)
    pairs, others = ("--pairs", str(files)), ("--pairs", str(other))
    valid, some = ("--valid", str(few)), ("--pairs", str(few))
    train, trace = ("train", *TRAIN, *valid), ("trace", "--model", MODEL)
    return {
        "train": Case((), (*train, *pairs, "--out"), "model", resumes=True),
        "train over another model": Case(
            (*train, *others, "--lowercase", "--out"),
            (*train, *pairs, "--overwrite", "--out"),
            "model",
            resumes=True,
        ),
        "trace": Case(
            (*trace, "--source", "the cat sleeps .", "--out"),
            (*trace, "--source", "the small dog sees the cat .", "--out"),
            "trace.safetensors",
        ),
        "trace to npz": Case((), (*trace, "--source", "the cat sleeps .", "--out"), "trace.npz"),
        "align": Case(
            ("align", "--model", MODEL, "--pairs", str(fewer), "--out"),
            ("align", "--model", MODEL, *some, "--out"),
            "links",
        ),
        "analyze": Case((), ("analyze", "--model", MODEL, *some, "--out"), "heads"),
    }


def _write_pairs(path: Path, n_pairs: int, seed: int) -> Path:
    pairs = ToyEnIt().held_out(n_pairs, seed)
    lines = ("\t".join((" ".join(pair.source), " ".join(pair.target))) for pair in pairs)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Killing:
    """Kills one command again and again.

    Args:
        case: the command.
        folder: for its files.
        rng: draws the moments.

    Attributes:
        kills: how often it was killed.
        completed: how often it came to its end after that.
    """

    def __init__(self, case: Case, folder: Path, rng: Random) -> None:
        self.kills = self.completed = 0
        self._case, self._rng = case, rng
        self._earlier, self._expected = folder / "earlier" / case.name, folder / "expected" / case.name
        self._out = folder / "out" / case.name
        for place in (self._earlier, self._expected, self._out):
            place.parent.mkdir(parents=True)
        if case.before:
            _undisturbed(case.before, self._earlier)
            self._begin_again(self._expected)
        self._n_changes = _undisturbed(case.command, self._expected)

    def go(self, n_kills: int) -> None:
        """Kill it so often, and let it end after the last kill.

        Raises:
            KillError: it left something that it should not.
        """
        self._begin_again(self._out)
        while self.kills < n_kills:
            self._start(self._rng.randrange(self._n_changes) + 1)
        self._start(NEVER)

    def _begin_again(self, place: Path) -> None:
        """Put what was there before into a place."""
        _remove(place)
        if self._case.before:
            copy = shutil.copytree if self._earlier.is_dir() else shutil.copy
            copy(self._earlier, place)

    def _start(self, number: int) -> None:
        """Start or continue the command and kill it at the n-th change, or check what it has written."""
        micros = self._rng.choice((0, self._rng.randrange(1, MIDDLE_MICROSECONDS)))
        has_state = (self._out / "training" / "state.safetensors").exists()
        is_resumed = self._case.resumes and has_state and not self._has_only_the_earlierrun_killed()
        arguments = ["train", "--resume", "--out"] if is_resumed else list(self._case.command)
        status, said, _ = run_killed([*arguments, str(self._out)], number, micros)
        where = f"change {number} + {micros} µs of {' '.join(arguments)}:\n{said}"
        if status in (-signal.SIGKILL, -signal.SIGALRM):
            self.kills += 1
            self._check_what_is_left(where)
        elif status:
            left = sorted(path.relative_to(self._out).as_posix() for path in self._out.rglob("*"))
            raise KillError(f"exit status {status} after a kill, which left {left}; {where}")
        else:
            self._check_result(where)
            self.completed += 1
            self._begin_again(self._out)

    def _has_only_the_earlierrun_killed(self) -> bool:
        """True while the folder has only the run that was there before."""
        if not self._case.before:
            return False
        plans = (place / "training" / "plan.json" for place in (self._earlier, self._out))
        earlier, now = (plan.read_bytes() for plan in plans)
        return earlier == now

    def _check_what_is_left(self, where: str) -> None:
        if self._expected.is_dir():
            _check_files(self._out, where)
            if (self._expected / "config.json").exists():
                self._check_model(where)
        elif self._out.exists() and self._out.read_bytes() not in self._known():
            raise KillError(f"{self._out.name} is neither the earlier file nor the new one; {where}")
        elif not self._out.exists() and self._case.before:
            raise KillError(f"the earlier {self._out.name} is gone; {where}")

    def _check_model(self, where: str) -> None:
        """The finished model is the earlier one, the new one, or none if there was none."""
        try:
            found = open_saved(str(self._out))
        except CheckpointError as error:
            if self._case.before:
                raise KillError(f"the earlier model is gone ({error}); {where}") from error
            return
        for place in (self._earlier, self._expected):
            if place.exists() and _model_files(place) == _model_files(self._out):
                return
        raise KillError(f"the model {found.name} has files of two models; {where}")

    def _known(self) -> list[bytes]:
        return [place.read_bytes() for place in (self._earlier, self._expected) if place.exists()]

    def _check_result(self, where: str) -> None:
        """All files are those of the undisturbed command, with nothing left over."""
        parts = list(self._out.parent.rglob(f"*{_PART}"))
        if parts:
            raise KillError(f"left over: {parts}; {where}")
        found, expected = _contents(self._out), _contents(self._expected)
        if found.keys() != expected.keys():
            raise KillError(f"other files: {sorted(found.keys() ^ expected.keys())}; {where}")
        others = [name for name, content in expected.items() if found[name] != content]
        if others:
            raise KillError(f"other contents: {others}; {where}")


def _model_files(folder: Path) -> dict[str, bytes]:
    """The files of a finished model, without its card, which has measured times."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".safetensors", ".json")
    }


def _contents(place: Path) -> dict[str, Any]:
    """What files hold, without measured times and without what names its own folder."""
    files = [path for path in place.rglob("*") if path.is_file()] if place.is_dir() else [place]
    return {
        "." if path == place else path.relative_to(place).as_posix(): _content(path)
        for path in files
        if path.name not in ("lock", ".lock", "README.md")
    }


def _content(path: Path) -> Any:
    if path.name == "state.safetensors":
        return {name: tensor.tolist() for name, tensor in load_file(path).items()}
    if path.name == "metrics.jsonl":
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [{name: value for name, value in line.items() if name not in _TIMED} for line in lines]
    return path.read_bytes()


def _check_files(folder: Path, where: str) -> None:
    """Every file under its own name can be read to its end."""
    for path in folder.rglob("*"):
        try:
            if path.suffix == ".safetensors":
                with safe_open(path, framework="pt") as file:
                    file.keys()
            elif path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
            elif path.suffix == ".npz":
                np.load(path)
        except Exception as error:
            raise KillError(f"{path.relative_to(folder)} is not whole ({error}); {where}") from error
    if (folder / "training" / "corpus" / "corpus.json").exists():
        EncodedCorpus(folder / "training" / "corpus")


def _remove(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)


def _undisturbed(command: tuple[str, ...], place: Path) -> int:
    """Run a command to its end; returns how often it changed a file."""
    status, said, n_changes = run_killed([*command, str(place)], NEVER, 0)
    if status:
        raise KillError(f"{' '.join(command)} {place}: exit status {status}\n{said}")
    return n_changes


def kill(seed: int, n_kills: int, only: str | None = None) -> Iterator[tuple[str, Killing]]:
    """Kill every command in turn, so often altogether; yields each with its counts.

    Raises:
        KillError: the message says how to repeat it.
    """
    with tempfile.TemporaryDirectory() as place:
        chosen = {name: case for name, case in cases(Path(place)).items() if only in (None, name)}
        for number, (name, case) in enumerate(chosen.items()):
            share = n_kills // len(chosen) + (number < n_kills % len(chosen))
            killing = Killing(case, Path(place) / name.replace(" ", "-"), Random(f"{seed} {name}"))
            try:
                killing.go(share)
            except KillError as error:
                again = f"python -m scripts.kills --seed {seed} --kills {share} --only '{name}'"
                raise KillError(f"{again}: after {killing.kills} kills, {error}") from error
            yield name, killing


def main() -> int:
    """Kill for a given number of times; returns exit status 1 if anything was left broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="the same moments again")
    parser.add_argument("--only", help="one command, by its name")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    try:
        for name, done in kill(given.seed, given.kills, given.only):
            print(f"{name}: {done.kills} kills, came to its end {done.completed} times", flush=True)
    except KillError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
