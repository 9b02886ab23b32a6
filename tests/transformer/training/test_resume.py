"""A killed training run loses nothing: once resumed, it continues as if it had never stopped."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
import torch

import transformer
from tests.transformer.training.runs import TINY, Run, metrics, state, train, write_files
from transformer.data.encoded import EncodedCorpus
from transformer.training import prepare
from transformer.training.folder import TrainingFolder

pytestmark = pytest.mark.slow

CHOICES = [
    *TINY,
    *"--precision bfloat16 --accumulate 2 --dropout 0.2 --average 2".split(),
    *"--validate-every 7 --typing-noise 0.3".split(),
]

SEED = 1
N_CALLS = 45_000
"""Fewer calls of our functions than any training run makes, even one that only has to finish up."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_files(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def unbroken(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken") / "model"
    train(out.parent, *files, *CHOICES, "--out", str(out))
    return out


def assert_the_same(out: Path, unbroken: Path) -> None:
    tensors, progress = state(out)
    expected, expected_progress = state(unbroken)
    assert progress == expected_progress
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in tensors.items())
    assert metrics(out) == metrics(unbroken)
    for name in ("model.safetensors", "training/last/model.safetensors", "training/best/model.safetensors"):
        assert (out / name).read_bytes() == (unbroken / name).read_bytes(), name


def test_the_unbroken_run_has_an_end_of_an_epoch_and_validations(unbroken: Path) -> None:
    _, progress = state(unbroken)
    assert progress["step"] == 20
    assert progress["epoch"] >= 1
    assert [line["step"] for line in metrics(unbroken) if "loss" in line] == [3, 6, 9, 12, 15, 18, 20]
    assert [line["step"] for line in metrics(unbroken) if "bleu" in line] == [7, 14, 20]


def die_at_sync(number: int) -> None:
    """Let the process kill itself at its n-th sync of a file or a folder."""
    sync, left = os.fsync, [number]

    def counted(file: Any) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(file)

    patch.object(os, "fsync", counted).start()


def test_killed_while_it_saves(files: list[str], unbroken: Path, tmp_path: Path) -> None:
    """A state is written in steps; if killed before any of them, the previous state is intact."""
    out = tmp_path / "model"
    run = Run(tmp_path, *files, *CHOICES, "--out", str(out), before=partial(die_at_sync, 8))
    assert run.wait() == -signal.SIGKILL
    for number in (9, 10, 11, 12, 13):
        run = Run(tmp_path, "--resume", "--out", str(out), before=partial(die_at_sync, number))
        assert run.wait() == -signal.SIGKILL
    train(tmp_path, "--resume", "--out", str(out))
    assert_the_same(out, unbroken)


def die_at_call(number: int) -> None:
    """Let the process kill itself at its n-th call of one of our functions."""
    ours, left = str(Path(transformer.__file__).parent), [number]

    def counted(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ours):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(counted)


def test_killed_at_random_moments(files: list[str], unbroken: Path, tmp_path: Path) -> None:
    """Moments are counted in calls, so they are the same on every machine."""
    out, rng = tmp_path / "model", random.Random(SEED)
    begin, go_on = [*files, *CHOICES, "--out", str(out)], ["--resume", "--out", str(out)]
    for _ in range(6):
        has_begun = (out / "training" / "plan.json").exists()
        die = partial(die_at_call, rng.randrange(1, N_CALLS))
        run = Run(tmp_path, *(go_on if has_begun else begin), before=die)
        assert run.wait() == -signal.SIGKILL, run.said
    train(tmp_path, *go_on)
    assert_the_same(out, unbroken)


def die_between_vocabularies_and_ids() -> None:
    def encode(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    patch.object(prepare, "encode_corpus", encode).start()


def test_killed_between_vocabularies_and_ids(files: list[str], tmp_path: Path) -> None:
    """Vocabularies of one corpus are never used with the ids of another."""
    out = tmp_path / "model"
    choices = [*files[:2], *TINY, "--steps", "6", "--out", str(out), "--overwrite"]
    train(tmp_path, *choices)
    run = Run(tmp_path, *choices, "--lowercase", before=die_between_vocabularies_and_ids)
    assert run.wait() == -signal.SIGKILL
    assert "Reusing the encoded corpus" not in train(tmp_path, *choices)
    prepared = prepare.open_prepared(TrainingFolder(out), TrainingFolder(out).saved_plan())
    first = Path(files[1]).read_text(encoding="utf-8").split("\t")[0]
    assert prepared.source.decode(EncodedCorpus(TrainingFolder(out).corpus).example(0).src) == first


def test_a_corpus_of_an_earlier_version_is_reused(files: list[str], tmp_path: Path) -> None:
    """Its description lacks the digest of the vocabularies."""
    out = tmp_path / "model"
    train(tmp_path, *files[:2], *TINY, "--steps", "6", "--out", str(out))
    path = out / "training" / "corpus" / "corpus.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    del description["coders"]
    path.write_text(json.dumps(description), encoding="utf-8")
    assert "Reusing the encoded corpus" in train(tmp_path, "--resume", "--out", str(out))
