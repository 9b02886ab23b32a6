"""Rename tables: foreign names to ours, and foreign layouts of a tensor into ours.

A layout is a small named function of one tensor and the model's configuration; it gives as many tensors as
the table names targets. None copies numbers where a view will do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from torch import Tensor

from transformer.model.config import TransformerConfig

_NUMBER = "(0|[1-9][0-9]{0,4})"

Transform = Callable[[Tensor, TransformerConfig], Sequence[Tensor]]


class Into:
    """The target of a foreign tensor that is stored in another layout than ours, or holds several of ours.

    Args:
        by: what makes ours of it.
        names: ours, with {} for a layer's number, in the order in which `by` gives them.
    """

    def __init__(self, by: Transform, *names: str) -> None:
        self.by = by
        self.names = names


Renames = Mapping[str, str | Into]
"""Foreign name -> ours, {} standing for a layer's number. Several foreign names may lead to one of ours:
the first of them that a file has counts."""


def targets(target: str | Into) -> Into:
    """The target of a rename table in its long form."""
    return Into(as_it_is, target) if isinstance(target, str) else target


class Patterns:
    """Finds which of some patterns a name fits; in a pattern each {} stands for a layer's number."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._plain: set[str] = set()
        self._numbered: dict[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
        for pattern in patterns:
            if "{}" in pattern:
                self._numbered[_shape(pattern)].append((pattern, _regex(pattern)))
            else:
                self._plain.add(pattern)

    def find(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The pattern and the numbers in the places of its {}; None where the name fits none."""
        if name in self._plain:
            return name, ()
        for pattern, regex in self._numbered.get(_shape(name), ()):
            match = regex.fullmatch(name)
            if match:
                return pattern, match.groups()
        return None


def layer_count(names: Iterable[str], prefix: str) -> int:
    """One more than the highest layer's number behind a prefix such as "encoder.layers."; 0 for none."""
    regex = re.compile(re.escape(prefix) + _NUMBER + r"\.")
    found = (regex.match(name) for name in names)
    return max((int(match[1]) + 1 for match in found if match), default=0)


def _shape(name: str) -> str:
    """The name with every number, and every place of one, replaced by {}."""
    return re.sub(r"[0-9]+|{}", "{}", name)


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(_NUMBER.join(map(re.escape, pattern.split("{}"))))


def as_it_is(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """One tensor, unchanged."""
    return (tensor,)


def transposed(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(in, out) -> (out, in)."""
    return (tensor.transpose(0, 1),)


def three_blocks(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(3 * out, ...) -> three of (out, ...): all queries, then all keys, then all values."""
    return tensor.chunk(3)


def three_blocks_of_columns(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(in, 3 * out) -> three of (out, in)."""
    return tensor.transpose(0, 1).chunk(3)


def interleaved_by_head(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(n * D, ...) -> n of (D, ...): the rows are head by head, and within a head part by part.

    Parts are queries, keys and values (n = 3), or keys and values (n = 2).
    """
    n_parts = tensor.shape[0] // config.d_model
    if n_parts not in (2, 3):
        raise RuntimeError(f"{tensor.shape[0]} rows are neither 2 nor 3 times {config.d_model}")
    by_head = tensor.unflatten(0, (config.n_heads, n_parts, -1))  # (H, n, d_head, ...)
    return [by_head[:, part].flatten(0, 1) for part in range(n_parts)]


def table_of_positions(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(length, D), (1, length, D) or (length, 1, D) -> (max_len, D)."""
    return (tensor.reshape(-1, tensor.shape[-1])[: config.max_len],)


def rotated_pairs_side_by_side(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(H * d_head, ...) -> the same shape: the pairs (i, i + d_head / 2) of each head become (2i, 2i + 1)."""
    pairs = tensor.unflatten(0, (-1, 2, config.d_head // 2))  # (H, 2, d_head / 2, ...)
    return (pairs.transpose(1, 2).flatten(0, 2),)


def without_first_rows(n: int) -> Transform:
    """(n + length, D) -> (length, D): for tables whose first rows stand for no position."""

    def transform(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
        return (tensor[n:],)

    return transform
