"""A cache against tensors that are concatenated and indexed at every step."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from transformer.model.cache import KeyValueCache

HEADS, D_HEAD = 3, 5


def random(*shape: int, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator)


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_what_was_appended_and_selected(seed: int) -> None:
    """Appending tokens and selecting rows (repeated, swapped, dropped) in any order."""
    generator = torch.Generator().manual_seed(seed)
    cache = KeyValueCache()
    assert len(cache) == 0
    assert cache.contents() is None
    n_rows = 4
    k, v = (torch.empty(n_rows, HEADS, 0, D_HEAD) for _ in range(2))
    for _ in range(25):
        if cache.contents() is None or torch.rand((), generator=generator) < 0.5:
            n = int(torch.randint(1, 4, (), generator=generator))
            new_k, new_v = (random(n_rows, HEADS, n, D_HEAD, generator=generator) for _ in range(2))
            k, v = torch.cat((k, new_k), dim=2), torch.cat((v, new_v), dim=2)
            cache.extend(new_k.clone(), new_v.clone())
        else:
            n = int(torch.randint(1, 7, (), generator=generator))
            rows = torch.randint(0, n_rows, (n,), generator=generator)
            cache.select(rows)
            k, v, n_rows = k[rows], v[rows], n
        kept = cache.contents()
        assert kept is not None
        assert torch.equal(kept[0], k)
        assert torch.equal(kept[1], v)
        assert len(cache) == k.shape[2]


def test_a_token_more_moves_nothing() -> None:
    """While there is room, keys stay in place; selecting alternates between two buffers."""
    cache = KeyValueCache()
    token = torch.ones(2, HEADS, 1, D_HEAD)
    places = [cache.extend(token, token)[0].data_ptr() for _ in range(100)]
    assert len(set(places)) == 8, "at 1, 2, 3, 5, 9, 17, 33 and 65 tokens"
    places.clear()
    for _ in range(10):
        cache.select(torch.tensor([1, 0]))
        kept = cache.contents()
        assert kept is not None
        places.append(kept[0].data_ptr())
    assert len(set(places)) == 2


def test_selecting_from_an_empty_cache_leaves_it_empty() -> None:
    cache = KeyValueCache()
    cache.select(torch.tensor([0]))
    assert cache.contents() is None
