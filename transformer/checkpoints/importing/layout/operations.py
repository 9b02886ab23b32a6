"""How layouts store tensors: a closed set of operations from a stored tensor to our weights.

Each operation turns the tensors so far, first the stored one, into others. Which rows a weight gets depends
on the weight: w_q has n_heads heads, w_k and w_v have n_kv_heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.importing.family import Into
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

Shape = tuple[int | None, ...]
"""A shape of which some lengths may be unknown."""

_QUERIES, _KEYS = (".w_q", ".q_norm"), (".w_k", ".k_norm")
_HEADS = (".w_q", ".w_k", ".w_v")


@dataclass(frozen=True)
class Stored:
    """How a stored tensor becomes weights of ours: operations in order, with an argument each.

    Attributes:
        steps: names in OPERATIONS and their arguments; None for those without one.
        names: our weights, in order.
    """

    steps: tuple[tuple[str, Any], ...]
    names: tuple[str, ...]

    def __call__(self, tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
        """One tensor per name."""
        tensors = [tensor]
        for name, argument in self.steps:
            tensors = OPERATIONS[name](tensors, self.names, config, argument)
        return tensors

    @property
    def keeps_rows(self) -> bool:
        """True if rows stay where they are."""
        return not {"take_rows", "without_first_rows", "scaled"} & {name for name, _ in self.steps}

    def n_heads(self, stored: tuple[int, ...], d_model: int) -> int:
        """The number of heads by the shape of a stored matrix of queries; 0 if that doesn't tell."""
        operations = {name for name, _ in self.steps}
        if "heads_apart" in operations and len(stored) == 3:
            return stored[0]
        if "once_per_head" in operations and stored and 0 < stored[0] < d_model:
            return d_model // stored[0]
        return 0

    def shape(self, stored: tuple[int, ...], ours: str) -> Shape:
        """The shape of one of our weights; rows of a matrix that is divided by heads are unknown."""
        shape: Shape = stored
        for name, argument in self.steps:
            shape = _SHAPES.get(name, _same)(shape, ours, argument)
            if name in SPLITTING and len(self.names) > 1 and shape:
                rows = shape[0]
                by_heads = any(head in one for head in _HEADS for one in self.names)
                shape = (None if by_heads or rows is None else rows // len(self.names), *shape[1:])
        return shape


def with_names(into: Into, rename: Callable[[str], str]) -> Into:
    """The same target with its names of ours renamed."""
    names = tuple(map(rename, into.names))
    by = replace(into.by, names=names) if isinstance(into.by, Stored) else into.by
    return Into(by, *names, joined=into.joined, part=into.part)


def _each(function: Callable[[Tensor, str, TransformerConfig, Any], Tensor]) -> Operation:
    """An operation on each tensor by itself; before a matrix is split, it has the first target's name."""

    def operation(
        tensors: list[Tensor], names: Sequence[str], config: TransformerConfig, argument: Any
    ) -> list[Tensor]:
        return [
            function(tensor, name, config, argument) for tensor, name in zip(tensors, names, strict=False)
        ]

    return operation


Operation = Callable[["list[Tensor]", Sequence[str], TransformerConfig, Any], "list[Tensor]"]


def _transposed(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return tensor.transpose(0, 1) if tensor.dim() == 2 else tensor


def _flattened(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return tensor.flatten()


def _pointwise(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return tensor.squeeze(2) if tensor.dim() == 3 else tensor


def _heads_apart(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(H, D, d_head) -> (H * d_head, D), for w_o (H, d_head, D) -> (D, H * d_head); biases are flattened."""
    if tensor.dim() < 3:
        return tensor.flatten()
    if ".w_o" in name:
        return tensor.flatten(0, 1).transpose(0, 1)
    return tensor.transpose(1, 2).flatten(0, 1)


def _pairs_apart(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(H * d_head, ...) -> the same shape: the pairs (i, i + n / 2) of each head become (2i, 2i + 1)."""
    return _rotated_rows(
        tensor, name, config, lambda rows: rows.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    )


def _pairs_swapped(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(H * d_head, ...) -> the same shape: rows 2i and 2i + 1 of each head change places.

    Rotating (a, b) by -angle is rotating (b, a) by angle.
    """
    return _rotated_rows(tensor, name, config, lambda rows: rows.unflatten(1, (-1, 2)).flip(2).flatten(1, 2))


def _rotated_rows(
    tensor: Tensor, name: str, config: TransformerConfig, reordered: Callable[[Tensor], Tensor]
) -> Tensor:
    """(H * d_head, ...) -> the same shape, for queries and keys: the rotated rows of each head reordered.

    The first n rows of each head are rotated; the others keep their places. `reordered` gets (H, n, ...); it
    does not index by a list, which imports for a second on the meta device. Values are unchanged.
    """
    if not any(part in name for part in (*_QUERIES, *_KEYS)):
        return tensor
    import torch  # imported here because rejected files don't need it

    n_turned = config.rotary_dims or config.d_head
    heads = tensor.unflatten(0, (-1, config.d_head))  # (H, d_head, ...)
    turned = reordered(heads[:, :n_turned])
    if n_turned < config.d_head:
        turned = torch.cat((turned, heads[:, n_turned:]), dim=1)
    return turned.flatten(0, 1)


def _table(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return tensor.reshape(-1, tensor.shape[-1])[: config.max_len]


def _without_first_rows(tensor: Tensor, name: str, config: TransformerConfig, n: Any) -> Tensor:
    return tensor[n:] if ".positions" not in name else tensor[n : n + config.max_len]


def _take_rows(tensor: Tensor, name: str, config: TransformerConfig, rows: Any) -> Tensor:
    """(n, ...) -> those rows, in their order; of a table of positions at most max_len."""
    taken = tensor[_numbers(rows, len(tensor))]
    return taken[: config.max_len] if ".positions" in name else taken


def _numbers(rows: Sequence[int | str], n: int) -> list[int]:
    """The numbers of rows written as numbers, negative from the end, and as first:last; of n rows."""
    found: list[int] = []
    for row in rows:
        if isinstance(row, str):
            first, last = (int(part) if part else None for part in row.split(":"))
            found += range(n)[first:last]
        else:
            found.append(row)
    return found


def _scaled(tensor: Tensor, name: str, config: TransformerConfig, factor: Any) -> Tensor:
    return tensor * factor


def _over_sqrt_d_model(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return tensor * config.d_model**-0.5


def _by_head(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(H * d_head,) -> (H, d_head), for norms with weights of each head's own."""
    return tensor.unflatten(0, (-1, config.d_head))


def _minus_one(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    return 1 + tensor.float()


def _next_row_added(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(n_segments + n, D) -> (n_segments, D): the row after the segments' is added to each of them."""
    return tensor[: config.n_segments] + tensor[config.n_segments]


def _expanded(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(1,) -> (D,); others are unchanged."""
    return tensor.expand(config.d_model).contiguous()


def _once_per_head(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(d_head, d_head) -> (D, D), block-diagonal, or (d_head,) -> (D,); (D, D) and (D,) are unchanged."""
    copies = config.d_model // max(1, tensor.shape[0])
    if tensor.dim() == 1:
        return tensor.repeat(copies)
    blocks = tensor.new_zeros(copies, tensor.shape[0], copies, tensor.shape[1])
    blocks.diagonal(dim1=0, dim2=2).copy_(tensor[..., None])
    return blocks.flatten(2).flatten(0, 1)


def _filled(tensor: Tensor, name: str, config: TransformerConfig, _: Any) -> Tensor:
    """(n, ...) -> (d_ff, ...), for w_2 (D, n) -> (D, d_ff): zeros for the hidden units that a layer lacks."""
    axis = 1 if ".w_2" in name else 0
    if tensor.dim() <= axis or tensor.shape[axis] >= config.d_ff:
        return tensor
    lacking = config.d_ff - tensor.shape[axis]
    zeros = tensor.new_zeros([lacking if i == axis else n for i, n in enumerate(tensor.shape)])
    import torch  # imported here because rejected files don't need it

    return torch.cat([tensor, zeros], dim=axis)


def _shared(tensors: list[Tensor], names: Sequence[str], config: TransformerConfig, _: Any) -> list[Tensor]:
    return [*tensors] * len(names)


def _blocks(tensors: list[Tensor], names: Sequence[str], config: TransformerConfig, _: Any) -> list[Tensor]:
    """One block of rows after another, in the order of the names."""
    [tensor] = tensors
    heads = [_n_heads(name, config) for name in names]
    if not all(heads):
        return list(tensor.chunk(len(names)))
    return list(tensor.split([n * config.d_head for n in heads]))


def _alternating(
    tensors: list[Tensor], names: Sequence[str], config: TransformerConfig, _: Any
) -> list[Tensor]:
    """Rows grouped by head of keys: its heads of queries, then its keys, then its values (in any order)."""
    [tensor] = tensors
    heads = [_n_heads(name, config) for name in names]
    n_groups = min(heads)
    if not n_groups:
        return list(tensor.unflatten(0, (-1, len(names))).movedim(1, 0))
    groups = tensor.unflatten(0, (n_groups, -1))  # (groups, rows, ...)
    parts = groups.split([n // n_groups * config.d_head for n in heads], dim=1)
    return [part.flatten(0, 1) for part in parts]


def _n_heads(name: str, config: TransformerConfig) -> int:
    """Heads of an attention's matrix; 0 for other weights."""
    if ".w_q" in name:
        return config.n_heads
    return config.n_kv_heads if ".w_k" in name or ".w_v" in name else 0


OPERATIONS: Mapping[str, Operation] = {
    "as_it_is": lambda tensors, names, config, argument: tensors,
    "transposed": _each(_transposed),
    "flattened": _each(_flattened),
    "pointwise": _each(_pointwise),
    "heads_apart": _each(_heads_apart),
    "pairs_apart": _each(_pairs_apart),
    "pairs_swapped": _each(_pairs_swapped),
    "table_of_positions": _each(_table),
    "without_first_rows": _each(_without_first_rows),
    "take_rows": _each(_take_rows),
    "scaled": _each(_scaled),
    "over_sqrt_d_model": _each(_over_sqrt_d_model),
    "by_head": _each(_by_head),
    "minus_one": _each(_minus_one),
    "zeros_up_to_d_ff": _each(_filled),
    "next_row_added": _each(_next_row_added),
    "expanded": _each(_expanded),
    "once_per_head": _each(_once_per_head),
    "shared": _shared,
    "blocks": _blocks,
    "interleaved_by_head": _alternating,
}
"""Name -> operation. What each of them says about the stored tensor is in docs/checkpoints.md."""

OLD_NAMES: Mapping[str, tuple[str, ...]] = {
    "three_blocks": ("blocks",),
    "three_blocks_of_columns": ("transposed", "blocks"),
    "rotated_pairs_side_by_side": ("pairs_apart",),
}
"""Names that mapping files have used for combinations."""

DIVIDING = frozenset({"shared", "blocks", "interleaved_by_head"})
"""Operations that make several weights of one tensor."""
SPLITTING = frozenset({"blocks", "interleaved_by_head"})
"""Operations after which there is a tensor for each name."""
ARGUMENTS: Mapping[str, type] = {"without_first_rows": int, "scaled": float, "take_rows": list}
"""Operations with an argument, and its type; a list is of numbers of rows."""


def _same(shape: Shape, ours: str, argument: Any) -> Shape:
    return shape


def _without_heads(shape: Shape, ours: str, argument: Any) -> Shape:
    if len(shape) < 3:
        return (_product(shape),)
    heads, first, second = shape[:3]
    if ".w_o" in ours:
        return (second, _product((heads, first)))
    return (_product((heads, second)), first)


def _product(lengths: Shape) -> int | None:
    product = 1
    for length in lengths:
        if length is None:
            return None
        product *= length
    return product


def _fewer_rows(shape: Shape, ours: str, n: Any) -> Shape:
    return (None if shape[0] is None else shape[0] - n, *shape[1:]) if shape else shape


_SHAPES: Mapping[str, Callable[[Shape, str, Any], Shape]] = {
    "transposed": lambda shape, ours, argument: shape[::-1] if len(shape) == 2 else shape,
    "flattened": lambda shape, ours, argument: (_product(shape),),
    "pointwise": lambda shape, ours, argument: shape[:2],
    "heads_apart": _without_heads,
    "table_of_positions": lambda shape, ours, argument: (_product(shape[:-1]), shape[-1]) if shape else shape,
    "without_first_rows": _fewer_rows,
    "take_rows": lambda shape, ours, rows: (len(_numbers(rows, shape[0] or 0)), *shape[1:]),
    "once_per_head": lambda shape, ours, argument: (None,) * len(shape),
}
