"""A run has its own id, which a choice in the run does not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.models import tiny_model
from tests.viz.mounted import unpack_frame
from tests.viz.viewer.runs import LIGHT, long_run, viewed
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.viewer.choice import Choice
from viz.viewer.frames import MAX_SHORT, run_frame, run_id, update_frame
from viz.viewer.viewer_run import view_run, view_weights


def test_a_run_is_told_from_runs_of_other_tokens_and_weights() -> None:
    loaded = tiny_model(2)

    def of(text: str, target: str, model: LoadedModel = loaded) -> str:
        return run_id(view_run(run_sentence(model, text, target), model))

    ids = [
        of("the dog saw", "il cane"),
        of("the cat saw", "il cane"),
        of("the dog saw", "il gatto"),
        of("the dog saw", "il cane", tiny_model(3)),
        of("the zebra saw", "il cane"),
        of("the lion saw", "il cane"),
    ]
    assert len(set(ids)) == len(ids), "two unknown words have the same numbers, and other names"
    assert of("the dog saw", "il cane") == ids[0]
    assert of("the dog saw", "il cane", tiny_model(2)) == ids[0]


@pytest.mark.parametrize("layer", [0, 1])
def test_a_run_is_told_by_the_weights_of_every_layer(layer: int) -> None:
    weights = np.random.default_rng(1).random((2, 3, 5, 7), np.float32)
    changed = weights.copy()
    changed[layer, 1, 2, 3] += np.float32(1e-6)
    both = (
        view_weights({"cross": list(each)}, {"decoder": "abcde", "encoder": "abcdefg"})
        for each in (weights, changed)
    )
    assert len(set(map(run_id, both))) == 2


def test_a_long_run_is_told_from_others_too() -> None:
    assert run_id(long_run(MAX_SHORT + 1, 7)) == run_id(long_run(MAX_SHORT + 1, 7))
    assert run_id(long_run(MAX_SHORT + 1, 7)) != run_id(long_run(MAX_SHORT + 2, 7))
    loaded = [tiny_model(seed, max_len=80) for seed in (1, 2)]
    text = "cat " * MAX_SHORT
    assert len({run_id(view_run(run_sentence(model, text, "il cane"), model)) for model in loaded}) == 2


def test_a_choice_makes_no_other_run() -> None:
    own = viewed("words")[2]
    updates = [update_frame(own, choice) for choice in (Choice("cross", 1), Choice("encoder", 0, 2, "map"))]
    assert len({unpack_frame(frame)[0]["run"] for frame in updates}) == 1
    frames = [run_frame(own, LIGHT) for _ in range(2)]
    assert frames[0] == frames[1], "so it is not sent again"


def test_another_run_to_compare_with_is_another_frame() -> None:
    own = viewed("words")[2]
    assert run_id(own) != run_id(replace(own, others={}))
    assert unpack_frame(run_frame(own, LIGHT))[0]["others"] == ["random weights"]
