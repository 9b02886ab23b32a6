"""How far two orders of words agree, next to what random orders reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.ranks import kendall, rank_correlation

Scores = NDArray[np.float64]
N_PERMUTATIONS = 1000
BAND = (2.5, 97.5)
"""Percentiles of random orders between which the band lies."""


@dataclass(frozen=True)
class Agreement:
    """Rank correlations of two scores; NaN if one is constant.

    Attributes:
        kendall: Kendall's tau-b (Kendall 1945): agreeing minus disagreeing pairs, corrected for ties.
        spearman: Spearman's coefficient.
        band: tau-b of 95 % of random orders.
    """

    kendall: float
    spearman: float
    band: tuple[float, float]


def agreement(scores: Scores, reference: Scores, *, seed: int = 0) -> Agreement:
    """How far scores rank n items as a reference does, both (n,); the seed draws the random orders."""
    generator = np.random.default_rng(seed)
    drawn = [kendall(generator.permutation(scores), reference) for _ in range(N_PERMUTATIONS)]
    low, high = np.percentile(drawn, BAND)
    return Agreement(
        kendall(scores, reference), rank_correlation(scores, reference), (float(low), float(high))
    )
