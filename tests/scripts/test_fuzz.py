"""Broken checkpoints: each is opened or refused with a CheckpointError, and nothing in it runs."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from scripts.fuzz import Files, FuzzError, attempt, fuzz, inert, malicious, tagged, valid

FEW, MANY = range(1_000), range(1_000, 50_000)


@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_broken_checkpoints(seed: int, runs: range) -> None:
    """A failure says how to repeat the run. Some broken files can still be read, and must be."""
    assert 0.05 < fuzz(seed, runs) / len(runs) < 0.5


def test_they_were_valid(tmp_path: Path) -> None:
    assert all(attempt(files, tmp_path) for files in valid())
    for make in (malicious, tagged):
        assert not attempt(make(tmp_path / "marker"), tmp_path)
    assert attempt(inert(tmp_path / "marker"), tmp_path)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("make", [malicious, inert])
def test_they_would_run_something(tmp_path: Path, make: Callable[[Path], Files]) -> None:
    """An unrestricted unpickler runs them; their tensors don't matter here."""

    class Trusting(pickle.Unpickler):
        def persistent_load(self, _: object) -> object:
            return torch.ones(2).storage()

    content = next(iter(make(tmp_path / "marker").values()))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        Trusting(io.BytesIO(archive.read("archive/data.pkl"))).load()
    assert (tmp_path / "marker").exists()


def test_tags_would_run_something(tmp_path: Path) -> None:
    (content,) = tagged(tmp_path / "marker").values()
    list(yaml.unsafe_load_all(content.replace(b"<<: *a, ", b"")))
    assert (tmp_path / "marker").exists()


def test_a_reader_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("scripts.fuzz.read_contents", unchecked)
    with pytest.raises(FuzzError, match=r"--seed 3 --only 7: IndexError"):
        fuzz(3, range(7, 9))


def test_a_reader_that_runs_something_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch.load would with weights_only=False."""

    def trusting(_: object, place: Path) -> bool:
        (place / "marker").touch()
        return True

    monkeypatch.setattr("scripts.fuzz.attempt", trusting)
    with pytest.raises(FuzzError, match="something of it was run"):
        fuzz(3, range(1))
