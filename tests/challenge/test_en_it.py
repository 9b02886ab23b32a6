"""The en-it translator on its challenge sets (names, numbers, long sentences, ...): no score below its floor.

Those who chose the training data had read `en-it.tsv`. Nobody has read `en-it-blind.tsv`, and it must stay
so: read its scores, not its sentences.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.checkpoints.folder import open_saved
from transformer.training.evaluation.challenge import CategoryScores, challenge_scores, read_challenges
from transformer.training.evaluation.translations import translate_all

pytestmark = pytest.mark.slow

FLOORS = {
    "names": (0.97, 98.0),
    "numbers": (0.97, 96.0),
    "classroom": (0.95, 90.5),
    "nouns": (0.97, 91.5),
    "agreement": (0.97, 95.0),
    "negation": (0.97, 96.5),
    "pronouns": (0.96, 93.5),
    "tense": (0.97, 98.5),
    "order": (0.97, 94.0),
    "long": (0.97, 82.0),
    "idioms": (0.94, 89.5),
    "typing": (0.97, 94.5),
}
"""Floors for `en-it.tsv` by category: share of required pieces that are in the translations, and chrF."""
BLIND_FLOOR = (0.95, 88.0)
"""Floors for `en-it-blind.tsv` as a whole: each of its categories has only 24 to 42 pieces."""


@pytest.fixture(scope="module")
def scores() -> dict[str, CategoryScores]:
    return measured("en-it.tsv")


def measured(name: str) -> dict[str, CategoryScores]:
    """The scores of greedy translations, as Explore shows them, by category."""
    challenges = read_challenges(Path(__file__).with_name(name))
    translated = translate_all(open_saved("en-it"), [one.source for one in challenges])
    return {one.category: one for one in challenge_scores(challenges, translated)}


@pytest.mark.parametrize("category", FLOORS)
def test_what_matters_comes_through(scores: dict[str, CategoryScores], category: str) -> None:
    found, (kept, chrf) = scores[category], FLOORS[category]
    assert found.kept / found.pieces >= kept
    assert found.chrf >= chrf


def test_every_category_has_its_floor_and_nothing_loops(scores: dict[str, CategoryScores]) -> None:
    assert scores.keys() == FLOORS.keys()
    assert sum(one.loops for one in scores.values()) == 0


def test_sentences_that_nobody_read() -> None:
    found = measured("en-it-blind.tsv").values()
    kept, chrf = BLIND_FLOOR
    assert sum(one.kept for one in found) / sum(one.pieces for one in found) >= kept
    assert sum(one.chrf * one.sentences for one in found) / sum(one.sentences for one in found) >= chrf
    assert sum(one.loops for one in found) == 0
