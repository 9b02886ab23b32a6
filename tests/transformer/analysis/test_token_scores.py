"""The scores a model gives each token, compared with torch; and where two targets diverge."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from transformer.analysis.token_scores import parting, token_scores

LOGITS = np.random.default_rng(8).normal(0, 4, (5, 11)).astype(np.float32)
IDS = (2, 10, 4, 4, 7)


def test_scores_are_those_of_torch() -> None:
    scores = token_scores(LOGITS, IDS, suppressed_ids=())
    expected = torch.distributions.Categorical(logits=torch.from_numpy(LOGITS).double())
    np.testing.assert_allclose(
        scores.log_probabilities, expected.log_prob(torch.tensor(IDS)).numpy(), atol=1e-12
    )
    np.testing.assert_allclose(scores.entropies, expected.entropy().numpy() / math.log(2), atol=1e-12)
    for row, token in enumerate(IDS):
        assert scores.ranks[row] == 1 + (LOGITS[row] > LOGITS[row, token]).sum()
    assert scores.total == pytest.approx(scores.log_probabilities.sum())
    assert scores.perplexity == pytest.approx(math.exp(-scores.total / 5))


def test_what_can_not_come_next_has_no_share() -> None:
    high = LOGITS.copy()
    high[:, 0] = 1_000
    with_it, without = (
        token_scores(high, IDS, suppressed_ids=(0,)),
        token_scores(LOGITS, IDS, suppressed_ids=(0,)),
    )
    np.testing.assert_array_equal(with_it.log_probabilities, without.log_probabilities)
    np.testing.assert_array_equal(with_it.entropies, without.entropies)
    np.testing.assert_array_equal(with_it.ranks, without.ranks)
    assert high[0, 0] == 1_000


def test_a_certain_token_has_no_entropy_and_equal_ones_the_most() -> None:
    certain = np.full((1, 8), -2_000, np.float32)
    certain[0, 3] = 0
    scores = token_scores(certain, (3,), suppressed_ids=())
    assert scores.log_probabilities.tolist() == scores.entropies.tolist() == [0]
    equal = token_scores(np.zeros((1, 8), np.float32), (3,), suppressed_ids=())
    assert equal.entropies[0] == pytest.approx(3)
    assert equal.perplexity == pytest.approx(8)


@pytest.mark.parametrize(
    "first,second,expected",
    [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1, 2, 3), 2), ((5,), (6, 5), 0), ((), (), None)],
)
def test_where_two_targets_part(
    first: tuple[int, ...], second: tuple[int, ...], expected: int | None
) -> None:
    assert parting(first, second) == parting(second, first) == expected
