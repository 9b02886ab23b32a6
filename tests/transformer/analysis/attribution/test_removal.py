"""Removal curves between the best and the worst of all orders, and how far two orders agree."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.auroc import auroc
from tests.support.models import tiny_model
from tests.support.perturbed import perturbed
from transformer.analysis.attribution import removal
from transformer.analysis.attribution.agreement import agreement
from transformer.analysis.attribution.removal import Removals
from transformer.analysis.interventions.knock_outs import input_words, word_effects
from transformer.analysis.interventions.questions import word_questions
from transformer.analysis.ranks import kendall
from transformer.run import run_sentence


def removals(text: str = "I saw a dog yesterday.") -> Removals:
    loaded = perturbed(tiny_model())
    run = run_sentence(loaded, text)
    words = input_words(loaded, run)
    tokens = [words.tokens(word) for word in range(len(words.labels) - 1)]
    return Removals(loaded, run, word_questions(loaded, run)[0], tokens)


def falls(own: Removals) -> dict[Sequence[int], float]:
    return {order: own.mean_fall(order) for order in itertools.permutations(range(own.n))}


def test_extremes_are_those_of_all_orders() -> None:
    own = removals()
    assert own.is_exact
    every = falls(own)
    np.testing.assert_allclose(own.extremes(), (min(every.values()), max(every.values())), atol=1e-9)
    best, worst = (pick(every, key=every.__getitem__) for pick in (max, min))
    np.testing.assert_allclose(own.normalized([best, worst]), [1, 0], atol=1e-9)


def test_a_beam_finds_orders_that_exist_and_says_that_it_is_not_exact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(removal, "MOST_EXACT", 2)
    own = removals()
    assert not own.is_exact
    low, high = own.extremes()
    exact = falls(own).values()  # of the answers that the beam has: those of another batch differ by 1e-7
    assert min(exact) - 1e-9 <= low < high <= max(exact) + 1e-9
    assert high - low > 0.9 * (max(exact) - min(exact))
    every = own.normalized(list(itertools.permutations(range(own.n))))
    assert (every.min(), every.max()) == (0, 1)  # orders that the beam missed count too


def test_a_curve_begins_with_the_run_and_continues_with_the_knock_outs() -> None:
    loaded = perturbed(tiny_model())
    run = run_sentence(loaded, "I saw a dog.")
    question = word_questions(loaded, run)[0]
    steps: list[tuple[int, int]] = []
    own = Removals(loaded, run, question, [[0], [1], [2]], on_progress=lambda *step: steps.append(step))
    curve = own.curve([2, 0, 1])
    effects = word_effects(loaded, run, [question], words=[[2], [0, 2], [0, 1, 2]])[:, 0].numpy()
    np.testing.assert_allclose(curve[0] - curve[1:], effects, atol=1e-5)
    assert own.mean_fall([2, 0, 1]) == pytest.approx(effects.mean(), abs=1e-5)
    assert steps == [(4, 8)]
    own.curve([2, 0, 1])
    assert len(steps) == 1  # nothing is computed twice


def test_the_band_of_random_orders_is_that_of_all_orders() -> None:
    reference = np.arange(6.0)
    found = agreement(reference, reference, seed=3)
    every = [kendall(np.array(order), reference) for order in itertools.permutations(range(6))]
    assert [found.kendall, found.spearman] == pytest.approx([1, 1])
    np.testing.assert_allclose(found.band, np.percentile(every, (2.5, 97.5)), atol=0.15)
    assert found == agreement(reference, reference, seed=3)


def test_auroc_is_the_probability_of_the_right_order() -> None:
    assert auroc(np.array([2.0, 3]), np.array([0.0, 1])) == 1
    assert auroc(np.array([1.0]), np.array([0.0, 1, 2, 3])) == (1 + 0.5) / 4
