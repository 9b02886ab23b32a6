"""Foreign layouts of a tensor into ours: small named functions of one tensor and the model's configuration.

Each gives as many tensors as the rename table names targets. None copies numbers where a view will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from transformer.model.config import TransformerConfig

Transform = Callable[[Tensor, TransformerConfig], Sequence[Tensor]]


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
