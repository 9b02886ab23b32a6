"""Snapshots: taken when due, opened as they were, refused with a sentence if broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.support.models import tiny_model
from transformer.__main__ import main
from transformer.checkpoints.folder import open_saved, save_model
from transformer.cli import train_finish
from transformer.errors import CheckpointError
from transformer.training.metrics import LoggedUpdate
from transformer.training.snapshots import (
    FOLDER,
    HISTORY,
    open_snapshots,
    save_history,
    save_snapshot,
    snapshot_steps,
)

NO_TABLE = "not a table of losses"
UPDATES = [LoggedUpdate(step, 7.0 / step, 0.001 * step) for step in range(1, 9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished model of 8 updates, with snapshots at 0 and 4 that have different weights."""
    save_model(tmp_path / "tiny", tiny_model(seed=8))
    for step in (4, 0):
        save_snapshot(tmp_path / "tiny", step, tiny_model(seed=step).model)
    save_history(tmp_path / "tiny", UPDATES)
    return tmp_path / "tiny"


@pytest.mark.parametrize(
    "n_steps, count, expected",
    [(6000, 5, (0, 750, 1500, 3000, 6000)), (1000, 2, (0, 1000)), (5, 10, (0, 1, 2, 5)), (1, 3, (0, 1))],
)
def test_each_snapshot_is_twice_as_late(n_steps: int, count: int, expected: tuple[int, ...]) -> None:
    assert snapshot_steps(n_steps, count) == expected


def test_a_snapshot_is_the_model_of_its_step_in_half_precision(folder: Path) -> None:
    snapshots = open_snapshots(str(folder))
    assert snapshots.steps == (0, 4, 8)
    for step in (0, 4):
        opened, saved = snapshots.open(step), tiny_model(seed=step)
        assert opened.source.token(5) == saved.source.token(5)
        expected = saved.model.state_dict()
        for name, weight in opened.model.state_dict().items():
            assert weight.dtype == torch.float32
            assert torch.equal(weight, expected[name].half().float())
        assert not any(parameter.requires_grad for parameter in opened.model.parameters())


def test_the_last_snapshot_is_the_finished_model(folder: Path) -> None:
    opened = open_snapshots(str(folder)).open(8).model.state_dict()
    assert all(torch.equal(weight, opened[name]) for name, weight in tiny_model(8).model.state_dict().items())


def test_the_last_snapshot_is_its_own_where_it_was_kept(folder: Path) -> None:
    """A training run that chooses other weights than the last for its model saves the last ones, too."""
    last = tiny_model(seed=9).model
    save_snapshot(folder, 8, last)
    snapshots = open_snapshots(str(folder))
    assert snapshots.steps == (0, 4, 8)
    opened = snapshots.open(8).model.state_dict()
    assert all(torch.equal(opened[name], w.half().float()) for name, w in last.state_dict().items())


def test_the_shipped_models_last_snapshot_is_the_model_itself() -> None:
    snapshots = open_snapshots("toy-en-it")
    assert snapshots.steps == (0, 26, 53, 106, 212, 425, 850, 1701, 3402, 6804)
    opened, model = snapshots.open(6804).model.state_dict(), open_saved("toy-en-it").model.state_dict()
    assert all(torch.equal(weight, model[name]) for name, weight in opened.items())


def test_the_history_is_that_of_the_updates(folder: Path) -> None:
    history = open_snapshots(str(folder)).history
    assert history.steps == tuple(range(1, 9))
    assert history.losses == pytest.approx([7.0 / step for step in range(1, 9)], abs=5e-5)
    assert history.learning_rates == pytest.approx([0.001 * step for step in range(1, 9)])


def test_a_step_without_a_snapshot_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="no snapshot of step 3"):
        open_snapshots(str(folder)).open(3)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda path: (path / HISTORY).unlink(), "trained with --snapshots"),
        (lambda path: (path / HISTORY).write_text("step,loss,learning_rate\n"), NO_TABLE),
        (lambda path: (path / HISTORY).write_text("step,loss\n1,2\n"), NO_TABLE),
        (
            lambda path: (path / HISTORY).write_text("step,loss,learning_rate\n1,two,3\n"),
            "not a table of losses",
        ),
        (
            lambda path: (path / HISTORY).write_text("step,loss,learning_rate\nnan,2,3\n"),
            "not a table of losses",
        ),
        (lambda path: (path / HISTORY).write_bytes(b"\xff\xfe"), "can't be read"),
    ],
    ids=["no history", "empty", "a column is missing", "a word", "no number", "not text"],
)
def test_a_damaged_history_is_said_in_a_sentence(
    folder: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(folder / FOLDER)
    with pytest.raises(CheckpointError, match=message):
        open_snapshots(str(folder))


def test_weights_of_another_model_are_refused(folder: Path) -> None:
    save_snapshot(folder, 4, tiny_model(d_ff=24).model)
    with pytest.raises(CheckpointError, match="23"):
        open_snapshots(str(folder)).open(4)


@pytest.mark.slow
def test_the_training_of_a_task_keeps_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_finish, "HELD_OUT", 2)
    command = ["train", "--task", "toy-en-it", "--n-pairs", "150", "--threads", "1", "--snapshots"]
    assert main([*command, "3", "--out", str(tmp_path / "model")]) == 0
    snapshots = open_snapshots(str(tmp_path / "model"))
    last = snapshots.steps[-1]
    assert snapshots.steps == (0, last // 2, last)
    assert snapshots.history.steps == tuple(range(1, last + 1))
    weights = [snapshots.open(step).model.generator.weight for step in snapshots.steps]
    assert not torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[1], weights[2])
    assert torch.equal(weights[2], open_saved(str(tmp_path / "model")).model.generator.weight)
    assert f"after 0, {last // 2} updates" in open_saved(str(tmp_path / "model")).card
    (tmp_path / "model" / "snapshots" / "notes.txt").write_text("mine")
    assert main([*command, "0", "--overwrite", "--out", str(tmp_path / "model")]) == 0
    with pytest.raises(CheckpointError, match="has no snapshots"):
        open_snapshots(str(tmp_path / "model"))
    assert [path.name for path in (tmp_path / "model" / "snapshots").iterdir()] == ["notes.txt"]
    assert main([*command, "1", "--out", str(tmp_path / "other")]) == 1
    assert "--snapshots is 1" in capsys.readouterr().err
