"""Which weights a training run considers better, on the way and at its end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.transformer.training.runs import TINY, state, train, write_pairs
from transformer.checkpoints.folder import save_model
from transformer.cli.train_options import parse
from transformer.loaded import LoadedModel
from transformer.training.evaluation.validation import ValidationScores
from transformer.training.finishing import BEST, LAST, finish, save_weights
from transformer.training.folder import TrainingFolder
from transformer.training.loop import TrainingRun, Validated
from transformer.training.optimization.trainer import TrainingStep
from transformer.training.prepare import first_model, new_trainer, open_prepared, prepare
from transformer.training.process import StopRequest
from transformer.training.state import Progress

Event = TrainingStep | Validated
AVERAGE = "the average of the last 2 saved weights"

LONG_AND_WRONG = ValidationScores(loss=4.0, bleu=6.0, chrf=30.9)
SHORT_AND_RIGHT = ValidationScores(loss=0.1, bleu=0.0, chrf=100.0)
"""As measured on sentences of one to three words, for which a wrong translation may well have four."""


class Scripted:
    """A validation that returns given scores."""

    def __init__(self, scores: Sequence[ValidationScores]) -> None:
        self._scores: Iterator[ValidationScores] = iter(scores)

    def __call__(self, _: LoadedModel) -> ValidationScores:
        return next(self._scores)


def begun(folder: Path, scores: Sequence[ValidationScores], *options: str) -> tuple[LoadedModel, TrainingRun]:
    """A training run that validates after every update."""
    pairs = write_pairs(folder / "pairs.tsv", 20)
    plan = parse(["--pairs", str(pairs), *TINY, "--validate-every", "1", *options]).plan
    kept = TrainingFolder(folder / "model")
    prepare(kept, plan, lambda _: None)
    prepared = open_prepared(kept, plan)
    loaded = first_model(plan, "model", prepared, torch.device("cpu"))
    trainer, validate = new_trainer(plan.updates, loaded), Scripted(scores)
    return loaded, TrainingRun(
        loaded, trainer, prepared.data, plan, kept, validate=validate, stop=StopRequest()
    )


def events(run: TrainingRun) -> list[Event]:
    """All events of a run."""
    with run:
        return list(run.events())


def test_the_better_translations_are_the_better_ones_of_short_sentences(tmp_path: Path) -> None:
    """Without four tokens BLEU is 0, however good the translations are."""
    _, training = begun(tmp_path, [LONG_AND_WRONG, SHORT_AND_RIGHT, LONG_AND_WRONG], "--patience", "1")
    validated = [event for event in events(training) if isinstance(event, Validated)]
    assert [event.is_best for event in validated] == [True, True, False]
    assert training.ended == "patience"
    assert (training.progress.best, training.progress.best_step) == (SHORT_AND_RIGHT, 2)
    assert Progress.from_dict(json.loads(json.dumps(asdict(training.progress)))) == training.progress


def test_learning_is_noticed_while_bleu_is_0(tmp_path: Path) -> None:
    """By chrF, or by the loss before any character is right; equal scores are no improvement."""
    course = [(5.0, 0.0), (4.9, 0.0), (4.9, 2.0), (5.1, 3.0), (5.1, 3.0), (4.0, 2.9)]
    _, training = begun(
        tmp_path, [ValidationScores(loss, 0.0, chrf) for loss, chrf in course], "--patience", "2"
    )
    validated = [event for event in events(training) if isinstance(event, Validated)]
    assert [event.is_best for event in validated] == [True, True, True, True, False, False]
    assert training.ended == "patience"


@pytest.mark.parametrize(
    "average, last, best, chosen",
    [
        (LONG_AND_WRONG, SHORT_AND_RIGHT, LONG_AND_WRONG, LAST),
        (LONG_AND_WRONG, LONG_AND_WRONG, SHORT_AND_RIGHT, BEST),
        (*(ValidationScores(loss, 0.0, 0.0) for loss in (2.0, 1.9, 2.1)), LAST),
        (SHORT_AND_RIGHT, SHORT_AND_RIGHT, SHORT_AND_RIGHT, AVERAGE),
        (LONG_AND_WRONG, SHORT_AND_RIGHT, SHORT_AND_RIGHT, LAST),
    ],
)
def test_the_finished_model_is_chosen_likewise(
    average: ValidationScores, last: ValidationScores, best: ValidationScores, chosen: str, tmp_path: Path
) -> None:
    """Among equals the average is chosen, then the last weights."""
    loaded, _ = begun(tmp_path, [])
    folder = TrainingFolder(tmp_path / "model")
    for step in (1, 2):
        save_weights(folder.path, loaded.model, step)
    save_model(folder.best, loaded)
    candidates = finish(loaded, folder, Scripted([average, last, best]), torch.float32)
    assert candidates[0].name == chosen
    assert {candidate.name for candidate in candidates} == {AVERAGE, LAST, BEST}


def resumed(folder: Path, valid: Path, scores: Sequence[ValidationScores]) -> TrainingRun:
    _, training = begun(folder, scores, "--valid", str(valid), "--steps", "30")
    training.resume()
    return training


def best_of(training: TrainingRun) -> tuple[ValidationScores | None, int, int]:
    """The best scores, their update, and how many scores came after them."""
    progress = training.progress
    return progress.best, progress.best_step, progress.n_worse


def test_other_validation_pairs_make_other_scores(tmp_path: Path) -> None:
    """Scores on old and new pairs are never compared: the best weights are first scored on the new ones."""
    valid, same = (write_pairs(tmp_path / f"{name}.tsv", 5, seed=4) for name in ("valid", "same"))
    easy = [ValidationScores(1.0, 90.0, chrf) for chrf in (70.0, 90.0, *[80.0] * 18)]
    _, training = begun(tmp_path, easy, "--valid", str(valid))
    assert len(list(events(training))) == 40

    training = resumed(tmp_path, same, [])
    assert best_of(training) == (easy[1], 2, 18)

    hard = [ValidationScores(2.0, 10.0, chrf) for chrf in (30.0, 29.0, 31.0)]
    training = resumed(tmp_path, write_pairs(tmp_path / "hard.tsv", 5, seed=5), hard)
    assert best_of(training) == (hard[0], 2, 0)
    with training:
        validated = list(islice(training.events(), 3))
    assert [event.is_best for event in validated if isinstance(event, Validated)] == [False, True]


@pytest.mark.slow
def test_a_resumed_training_says_that_its_validation_is_another(tmp_path: Path) -> None:
    """Also after an earlier version, which recorded neither the pairs nor their chrF."""
    out = tmp_path / "model"
    pairs, valid = write_pairs(tmp_path / "pairs.tsv", 20), write_pairs(tmp_path / "valid.tsv", 3, seed=4)
    given = ["--pairs", str(pairs), *TINY, "--steps", "6", "--validate-every", "3"]
    train(tmp_path, *given, "--valid", str(valid), "--out", str(out))
    assert "scored again on these" not in train(tmp_path, "--resume", "--out", str(out))
    other = write_pairs(tmp_path / "other.tsv", 3, seed=5)
    said = train(tmp_path, "--resume", "--valid", str(other), "--out", str(out))
    assert "The validation pairs have changed" in said
    assert "Update 6: validation loss" in said
    forget_the_validation(out / "training" / "state.safetensors")
    said = train(tmp_path, "--resume", "--out", str(out), "--steps", "9")
    assert "the best weights are scored again on these" in said
    assert state(out)[1]["best"]["chrf"] > 0


def forget_the_validation(path: Path) -> None:
    """Turn a state into that of an earlier version."""
    tensors, progress = load_file(path), state(path.parent.parent)[1]
    old = {name: value for name, value in progress.items() if name not in ("best", "valid")}
    save_file(tensors, path, {"progress": json.dumps(old | {"best_bleu": 3.0})})
