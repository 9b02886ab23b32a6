"""Rank correlations, and what they and other numbers are over resampled sentences."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES = 2_000


def rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's coefficient of two samples (n,); ties get their mean rank. NaN if one is constant."""
    ranks = [_ranks(np.asarray(one, dtype=np.float64)) for one in (a, b)]
    if len(ranks[0]) < 2 or any(one.std() == 0 for one in ranks):
        return math.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: NDArray[np.float64] = (last - (counts - 1) / 2)[inverse]
    return means


def kendall(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Kendall's tau-b (Kendall 1945) of two samples (n,); NaN if one is constant."""
    upper = np.triu_indices(len(a), 1)
    signs = [np.sign(one[:, None] - one[None])[upper] for one in (a, b)]
    size = math.sqrt(float((signs[0] ** 2).sum() * (signs[1] ** 2).sum()))
    return float((signs[0] * signs[1]).sum()) / size if size else math.nan


def times_drawn(n: int, n_resamples: int, seed: int) -> NDArray[np.int64]:
    """How often each of n rows is drawn, with replacement, in each resample: (n_resamples, n)."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)


def mean_interval(
    values: NDArray[np.float64], *, seed: int = 0, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The bootstrap interval of the mean over the first axis, by percentiles (Efron 1979).

    Args:
        values: (n, ...): one row per sentence; rows are drawn with replacement.
        seed: seed of the draws.
        level: coverage.

    Returns:
        The lower and the upper ends, (...) each.
    """
    n = len(values)
    flat = values.reshape(n, -1)
    means = (times_drawn(n, N_RESAMPLES, seed) @ flat) / n  # (resamples, ...)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low.reshape(values.shape[1:]), high.reshape(values.shape[1:])
