"""Pooled maps against the plain definition of a block-wise maximum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viz.pooling import CLOSED_LEVEL, TOP_LEVEL, block_edges, pool_maps

LAYERS, HEADS, QUERIES, KEYS = 2, 3, 11, 7


def random_maps(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((LAYERS, HEADS, QUERIES, KEYS), dtype=np.float32)


def plain_maximum(cells: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """The maximum of each block of one map, block by block; NaN where a block has no open cell."""
    rows = [range(i * cells.shape[0] // n_rows, (i + 1) * cells.shape[0] // n_rows) for i in range(n_rows)]
    columns = [
        range(j * cells.shape[1] // n_columns, (j + 1) * cells.shape[1] // n_columns)
        for j in range(n_columns)
    ]
    result = np.full((n_rows, n_columns), np.nan)
    for i, j in np.ndindex(n_rows, n_columns):
        is_open = [cells[q, k] for q in rows[i] for k in columns[j] if np.isfinite(cells[q, k])]
        if is_open:
            result[i, j] = max(is_open)
    return result


def restored(levels: np.ndarray, low: float, high: float) -> np.ndarray:
    values = low + levels / TOP_LEVEL * (high - low)
    return np.where(levels == CLOSED_LEVEL, np.nan, values)


@settings(max_examples=60, deadline=None)
@given(
    n_queries=st.integers(1, 13),
    n_keys=st.integers(1, 17),
    side=st.integers(1, 19),
    seed=st.integers(0, 99),
    masked=st.booleans(),
)
def test_every_block_holds_its_maximum(
    n_queries: int, n_keys: int, side: int, seed: int, masked: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, 3, n_queries, n_keys)).astype(np.float32)
    allowed = rng.random((n_queries, n_keys)) < 0.6 if masked else None
    pooled = pool_maps(values, allowed, side)
    shown = values if allowed is None else np.where(allowed, values, np.nan)
    for layer, head in np.ndindex(2, 3):
        expected = plain_maximum(shown[layer, head], min(n_queries, side), min(n_keys, side))
        low, high = float(pooled.low[layer, head]), float(pooled.high[layer, head])
        tolerance = 0 if np.isnan(high) else (high - low) / TOP_LEVEL / 2 + 1e-6
        np.testing.assert_allclose(restored(pooled.levels[layer, head], low, high), expected, atol=tolerance)


def test_the_strongest_pair_is_exact_and_never_closed() -> None:
    values = random_maps()
    values[1, 2, 8, 5] = 4.0
    values[1, 2, 9, 6] = 9.0
    allowed = np.ones((QUERIES, KEYS), bool)
    allowed[9, 6] = False
    pooled = pool_maps(values, allowed, side=3)
    assert (pooled.strongest_query[1, 2], pooled.strongest_key[1, 2]) == (8, 5)
    assert pooled.high[1, 2] == 4.0
    for layer, head in np.ndindex(LAYERS, HEADS):
        query, key = pooled.strongest_query[layer, head], pooled.strongest_key[layer, head]
        assert values[layer, head, query, key] == pooled.high[layer, head]


def test_nan_and_minus_infinity_count_as_closed() -> None:
    values = random_maps()
    values[0, 0, :, 0] = np.nan
    values[0, 0, :, 1] = -np.inf
    levels = pool_maps(values).levels
    assert (levels[0, 0, :, :2] == CLOSED_LEVEL).all()
    assert (levels[0, 0, :, 2:] != CLOSED_LEVEL).all()
    assert (levels[1] != CLOSED_LEVEL).all()


def test_a_wholly_closed_map_has_no_strongest_pair() -> None:
    values = random_maps()
    allowed = np.ones((LAYERS, HEADS, QUERIES, KEYS), bool)
    allowed[1, 0] = False
    pooled = pool_maps(values, allowed)
    assert (pooled.levels[1, 0] == CLOSED_LEVEL).all()
    assert np.isnan([pooled.high[1, 0], pooled.low[1, 0]]).all()
    assert (pooled.strongest_query[1, 0], pooled.strongest_key[1, 0]) == (-1, -1)
    assert pooled.strongest_query[0, 0] >= 0


def test_blocks_cover_every_position_once_and_differ_by_at_most_one() -> None:
    for length, side in [(65, 64), (7, 3), (5, 9), (1, 1)]:
        edges = block_edges(length, side)
        assert (edges[0], edges[-1]) == (0, length)
        sizes = np.diff(edges)
        assert sizes.min() >= 1
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("shape", [(3, 4), (1, 1, 0, 4)])
def test_maps_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="layers, heads, queries, keys"):
        pool_maps(np.zeros(shape, np.float32))


def test_a_side_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        pool_maps(random_maps(), side=0)
