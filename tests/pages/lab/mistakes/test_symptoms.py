"""On the trained models each symptom separates broken from sound, whatever the sentence."""

from __future__ import annotations

import pytest

from tests.pages.lab.mistakes.cases import SENTENCES, TRAINED, case, fitting
from viz.pages.lab.mistakes import MISTAKES, Symptom

EXACT = {
    "mask-inverted",
    "mask-added",
    "mask-finite",
    "padding-unmasked",
    "fully-masked-row",
    "no-causal-mask",
    "no-shift",
    "queries-from-memory",
    "dropout-on",
}
"""Mistakes whose symptom is exactly 0 in the sound model."""


@pytest.mark.parametrize(
    "kind, name",
    [
        pytest.param(kind, name, marks=pytest.mark.slow if kind == "en-it" else ())
        for kind, name in fitting(TRAINED)
    ],
)
def test_the_limit_lies_between_the_sound_model_and_the_broken_one(kind: str, name: str) -> None:
    mistake = MISTAKES[name]
    for text in SENTENCES:
        made = case(kind, text)
        symptom = mistake.symptom(made, mistake.broken(made))
        assert symptom.shows, (text, symptom)
        nearer = abs(symptom.broken - symptom.limit)
        assert nearer > abs(symptom.limit) / 10, f"no room for another sentence: {symptom}"
        if name in EXACT:
            assert symptom.sound == 0


def test_a_number_that_is_none_shows() -> None:
    """NaN is neither above a limit nor below it."""
    assert Symptom("", 0.0, float("nan"), 1.0).shows
    assert not Symptom("", 0.0, 0.5, 1.0).shows
    assert Symptom("", 2.0, 0.5, 1.0).shows
