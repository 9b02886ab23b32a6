"""Which query may attend to which key: True = may attend, rows are queries, columns are keys."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.model.masks import causal_mask, local_mask, padding_mask


def test_padding_is_closed_to_every_query() -> None:
    ids = torch.tensor([[5, 3, 9, 1, 4, 2, 7], [5, 3, 9, 0, 0, 0, 0]])
    mask = padding_mask(ids, pad_id=0)
    assert mask.shape == (2, 1, 1, 7)
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[True] * 7, [True] * 3 + [False] * 4]


def test_the_padding_id_is_a_choice() -> None:
    assert padding_mask(torch.tensor([[0, 3, 1]]), pad_id=3).flatten().tolist() == [True, False, True]


def test_the_future_is_closed() -> None:
    mask = causal_mask(5)
    assert mask.shape == (1, 1, 5, 5)
    assert mask.dtype == torch.bool
    for query in range(5):
        for key in range(5):
            assert mask[0, 0, query, key] == (key <= query)


@given(n_queries=st.integers(0, 11), n_earlier=st.integers(0, 11))
def test_new_queries_are_the_last_rows_of_the_whole(n_queries: int, n_earlier: int) -> None:
    n_keys = n_earlier + n_queries
    assert torch.equal(causal_mask(n_queries, n_keys), causal_mask(n_keys)[:, :, n_earlier:])


def test_a_mask_lives_on_the_device_of_its_ids() -> None:
    meta = torch.device("meta")
    assert padding_mask(torch.zeros(2, 3, dtype=torch.long, device=meta), 0).device == meta
    assert causal_mask(3, device=meta).device == meta
    assert local_mask(2, 3, device=meta).device == meta


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_a_window_opens_the_keys_nearer_than_it(window: int) -> None:
    mask = local_mask(window, 5)
    expected = [[abs(query - key) < window for key in range(5)] for query in range(5)]
    assert mask.shape == (1, 1, 5, 5)
    assert mask[0, 0].tolist() == expected
    assert torch.equal(local_mask(window, 2, 5), mask[:, :, 3:]), "with earlier keys cached"
