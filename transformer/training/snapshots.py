"""A model at several moments of its training, beside the finished one: weights and the course of the loss.

The finished model need not be that of the last update: a run over a corpus may choose the best weights,
or an average.
"""

from __future__ import annotations

import csv
import io
import math
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from transformer.checkpoints.folder import load_weights, open_saved, save_only_weights
from transformer.checkpoints.places import place_of
from transformer.errors import CheckpointError
from transformer.files import write_text
from transformer.loaded import LoadedModel
from transformer.model.transformer import Transformer
from transformer.training.metrics import LoggedUpdate

FOLDER, HISTORY = "snapshots", "history.csv"
"""In a model's folder; in it, a folder of weights for each step, named by the step."""

_COLUMNS = ("step", "loss", "learning_rate")


@dataclass(frozen=True)
class History:
    """The loss and the learning rate of a training run, an entry for each update that was logged.

    Attributes:
        steps: counted from 1, rising.
        losses: before the updates, in nats.
        learning_rates: of the updates.
    """

    steps: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    learning_rates: tuple[float, ...] = ()


@dataclass(frozen=True)
class Snapshots:
    """The snapshots in a model's folder.

    Attributes:
        folder: of the model.
        steps: updates that had been made at each, rising; the last is the run's last.
        history: of the whole run.
    """

    folder: Path
    steps: tuple[int, ...]
    history: History

    def open(self, step: int, device: torch.device | None = None) -> LoadedModel:
        """Open the model of a step, frozen, as it was then.

        The last is the finished model itself, unless that has other weights: then the last has been kept too.

        Raises:
            CheckpointError: when its files are missing or damaged.
            ValueError: for a step without a snapshot.
        """
        if step not in self.steps:
            raise ValueError(f"there is no snapshot of step {step}")
        weights = self.folder / FOLDER / str(step)
        is_model = step == self.steps[-1] and not weights.exists()
        return open_saved(str(self.folder), device, weights=None if is_model else weights)


def snapshot_steps(n_steps: int, count: int) -> tuple[int, ...]:
    """Choose when to take snapshots: at 0, at the end, and before it at half as many steps again and again.

    A model changes as much from step 10 to 20 as from 1,000 to 2,000, roughly: the steps are evenly spaced on
    a logarithmic axis.

    Args:
        n_steps: of the whole run.
        count: of snapshots, at least 2; a short training has fewer.
    """
    return tuple(sorted({0, *(n_steps >> halvings for halvings in range(count - 1))}))


def save_snapshot(folder: Path, step: int, model: Transformer) -> None:
    """Write a model's weights as they are after a step, in half precision, each file whole or not at all.

    Args:
        folder: of the model; need not exist yet.
        step: updates so far.

    Raises:
        OSError: when the folder can't be written.
        ValueError: for weights that are too large for half precision.
    """
    save_only_weights(folder / FOLDER / str(step), model, dtype=torch.float16)


def load_snapshot(folder: Path, step: int, model: Transformer) -> None:
    """Give a model the weights that `save_snapshot` wrote, and freeze it.

    Raises:
        CheckpointError: when they are missing, damaged, or another model's.
    """
    load_weights(folder / FOLDER / str(step), model)


def kept_snapshots(folder: Path) -> tuple[int, ...]:
    """The steps of the snapshots in a model's folder, rising."""
    return tuple(sorted(int(path.name) for path in (folder / FOLDER).glob("*") if path.name.isdecimal()))


def drop_snapshots(folder: Path) -> None:
    """Remove the snapshots of the model that was in a folder before, and nothing else that lies beside them.

    Raises:
        OSError: when they can't be removed.
    """
    (folder / FOLDER / HISTORY).unlink(missing_ok=True)
    for step in kept_snapshots(folder):
        shutil.rmtree(folder / FOLDER / str(step))


def save_history(folder: Path, updates: Iterable[LoggedUpdate]) -> None:
    """Write what a training run logged beside its snapshots: step, loss and learning rate, as CSV.

    The last update is among them: its step is that of the last snapshot.

    Raises:
        OSError: when the folder can't be written.
    """
    lines = [",".join(_COLUMNS)]
    lines += [f"{update.step},{update.loss:.4f},{update.learning_rate:.4e}" for update in updates]
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    write_text(folder / FOLDER / HISTORY, "\n".join(lines) + "\n")


def open_snapshots(name_or_path: str) -> Snapshots:
    """Find the snapshots of a shipped model by its name, or of any model by the path of its folder.

    Raises:
        CheckpointError: when it has none, or what there is can't be read.
    """
    folder = place_of(name_or_path)
    history = _read_history(folder / FOLDER / HISTORY)
    last = history.steps[-1]
    before = (step for step in kept_snapshots(folder) if step < last)
    return Snapshots(folder, (*before, last), history)


def _read_history(path: Path) -> History:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path.parent.parent} has no {FOLDER}/{HISTORY}: choose a model that was trained with "
            "--snapshots."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} can't be read ({error}): copy it again.") from error
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
        steps, losses, rates = ([float(row[name]) for row in rows] for name in _COLUMNS)
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise CheckpointError(f"{path} holds no steps with their losses ({error}): copy it again.") from error
    if not rows or not all(map(math.isfinite, (*steps, *rates))):
        raise CheckpointError(f"{path} holds no steps with their losses: copy it again.")
    return History(tuple(map(int, steps)), tuple(losses), tuple(rates))
