"""Snapshots of a model during training, saved with the finished model: weights, and the loss over time.

The finished model may have the best or averaged weights instead of those of the last update.
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
"""Folder of the snapshots in a model's folder, with one sub-folder per step, and its file of losses."""

_COLUMNS = ("step", "loss", "learning_rate")


@dataclass(frozen=True)
class History:
    """Loss and learning rate of a training run at each logged update.

    Attributes:
        steps: steps from 1, ascending.
        losses: loss before each update, in nats.
        learning_rates: learning rate of each update.
    """

    steps: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    learning_rates: tuple[float, ...] = ()


@dataclass(frozen=True)
class Snapshots:
    """The snapshots in a model's folder.

    Attributes:
        folder: the model's folder.
        steps: number of updates before each snapshot, ascending, up to the run's last.
        history: the losses of the whole run.
    """

    folder: Path
    steps: tuple[int, ...]
    history: History

    def open(self, step: int, device: torch.device | None = None) -> LoadedModel:
        """Open the frozen model at a step.

        At the last step this is the finished model, unless that has other weights and a snapshot of the last
        step exists.

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
    """The snapshot steps: 0, and n_steps halved repeatedly.

    A model changes roughly as much from step 10 to 20 as from 1,000 to 2,000, so the steps are evenly spaced
    on a logarithmic axis.

    Args:
        n_steps: number of steps of the run.
        count: number of snapshots, at least 2; a short run has fewer.
    """
    return tuple(sorted({0, *(n_steps >> halvings for halvings in range(count - 1))}))


def save_snapshot(folder: Path, step: int, model: Transformer) -> None:
    """Write a model's weights after a step in half precision; each file is written atomically.

    Args:
        folder: the finished model's folder; need not exist yet.
        step: updates so far.
        model: the model after that step.

    Raises:
        OSError: when the folder can't be written.
        ValueError: when a weight overflows half precision.
    """
    save_only_weights(folder / FOLDER / str(step), model, dtype=torch.float16)


def load_snapshot(folder: Path, step: int, model: Transformer) -> None:
    """Load the weights from `save_snapshot` into a model and freeze it.

    Raises:
        CheckpointError: when they are missing, damaged or belong to another model.
    """
    load_weights(folder / FOLDER / str(step), model)


def saved_snapshots(folder: Path) -> tuple[int, ...]:
    """The steps with a snapshot in a model's folder, ascending."""
    return tuple(sorted(int(path.name) for path in (folder / FOLDER).glob("*") if path.name.isdecimal()))


def drop_snapshots(folder: Path) -> None:
    """Remove the snapshots in a model's folder, and no other files.

    Raises:
        OSError: when they can't be removed.
    """
    (folder / FOLDER / HISTORY).unlink(missing_ok=True)
    for step in saved_snapshots(folder):
        shutil.rmtree(folder / FOLDER / str(step))


def save_history(folder: Path, updates: Iterable[LoggedUpdate]) -> None:
    """Write step, loss and learning rate of updates as CSV; the last step is also the last snapshot's.

    Raises:
        OSError: when the folder can't be written.
    """
    lines = [",".join(_COLUMNS)]
    lines += [f"{update.step},{update.loss:.4f},{update.learning_rate:.4e}" for update in updates]
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    write_text(folder / FOLDER / HISTORY, "\n".join(lines) + "\n")


def open_snapshots(name_or_path: str) -> Snapshots:
    """The snapshots of a shipped model by name, or of a model folder by path.

    Raises:
        CheckpointError: when there are none, or they can't be read.
    """
    folder = place_of(name_or_path)
    history = _read_history(folder / FOLDER / HISTORY)
    last = history.steps[-1]
    before = (step for step in saved_snapshots(folder) if step < last)
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
        raise CheckpointError(f"{path} is not a table of losses ({error}): copy it again.") from error
    if not rows or not all(map(math.isfinite, (*steps, *rates))):
        raise CheckpointError(f"{path} is not a table of losses: copy it again.")
    return History(tuple(map(int, steps)), tuple(losses), tuple(rates))
