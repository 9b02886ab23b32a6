"""Rank correlations by hand, and intervals of a mean."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.ranks import kendall, mean_interval, rank_correlation


def test_rank_correlation_and_intervals() -> None:
    a = np.array([3.0, 1.0, 2.0, 2.0])
    assert rank_correlation(a, a**3) == pytest.approx(1)
    assert rank_correlation(a, -a) == pytest.approx(-1)
    assert rank_correlation(a, np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(-0.3162, abs=1e-4)
    assert np.isnan(rank_correlation(a, np.ones(4)))
    values = np.random.default_rng(5).normal(2.0, 1.0, (400, 3))
    low, high = mean_interval(values)
    assert ((low < values.mean(axis=0)) & (values.mean(axis=0) < high)).all()
    expected = 2 * 1.96 * values.std(axis=0) / 20
    np.testing.assert_allclose(high - low, expected, rtol=0.1)
    again = mean_interval(values)
    assert (low == again[0]).all()


def test_kendall_counts_pairs_and_corrects_for_ties() -> None:
    a, b = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    assert kendall(a, b) == pytest.approx(4 / 6)
    assert kendall(a, -a) == -1
    # Kendall 1945: 4 agreeing pairs of 6, one tied in b alone, one disagreeing
    assert kendall(a, np.array([1.0, 3, 2, 3])) == pytest.approx((4 - 1) / np.sqrt(6 * 5))
    assert np.isnan(kendall(a, np.ones(4)))
