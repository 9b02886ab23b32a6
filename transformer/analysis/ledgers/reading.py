"""A linear function of a vector, pulled back to the parts that the vector is a sum of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.norms import of_head
from transformer.model.normalization import Norm, RMSNorm

Key = TypeVar("Key", bound=Hashable)
Kind = Literal["token", "position", "segment", "attention", "feed_forward", "bias"]


class Part(NamedTuple):
    """What a term of a ledger comes from.

    Attributes:
        kind: of the part. The bias of a norm is its beta; that of a head is b_v through W_O.
        layer: of its sublayer; None outside the layers.
        sublayer: name of its module in the layer, such as "cross_attn", or in the model.
        head: None for what belongs to no single head.
        position: of the key that a head moved it from; None for other parts, and for a head's whole output.
    """

    kind: Kind
    layer: int | None = None
    sublayer: str = ""
    head: int | None = None
    position: int | None = None


class Reading:
    """R linear functions of a vector. They are pulled back step by step, constants being set aside.

    Args:
        directions: (width, R); the vector's R numbers are vector @ directions.
    """

    def __init__(self, directions: Tensor) -> None:
        self.directions = _exact(directions)
        self._blocks: list[tuple[list[Part], Tensor]] = []

    def branch(self, factor: float = 1.0) -> Reading:
        """The same functions of a vector that is added, times a factor; terms go to the same place."""
        other = Reading(self.directions * factor)
        other._blocks = self._blocks
        return other

    def add(self, part: Part, vector: Tensor | None) -> None:
        """Set aside a part (width,) of the vector; None, such as an absent bias, adds nothing."""
        if vector is not None:
            self.add_values([part], (_exact(vector) @ self.directions)[None])

    def add_values(self, parts: Sequence[Part], values: Tensor) -> None:
        """Set aside parts whose readings (parts, R) are known."""
        self._blocks.append((list(parts), values))

    def through_matrix(self, weight: Tensor, bias: Tensor | None, part: Part) -> None:
        """Pull back through x W^T + b, for W (width, input width); b is set aside as `part`."""
        self.add(part, bias)
        self.directions = _exact(weight).T @ self.directions

    def through_norm(self, norm: Norm, scale: Tensor, part: Part, head: int | None = None) -> None:
        """Pull back through a norm, of a head if given, whose scale (1,) is held fixed.

        Its beta is set aside as `part`. So held, a norm is linear: subtracting the mean is.
        """
        if not isinstance(norm, RMSNorm):
            self.add(part, of_head(norm.beta, head))
        self.directions = self.directions * _exact(of_head(norm.gamma, head))[:, None] / _exact(scale)
        if not isinstance(norm, RMSNorm):
            self.directions = self.directions - self.directions.mean(dim=0)

    def collected(self) -> tuple[tuple[Part, ...], NDArray[np.float64]]:
        """The parts, those that the model computed first in front, and their readings (parts, R)."""
        blocks = self._blocks[::-1]
        parts = tuple(part for own, _ in blocks for part in own)
        return parts, torch.cat([values for _, values in blocks]).numpy()


def grouped(
    parts: Sequence[Part], values: NDArray[np.float64], key: Callable[[Part], Key]
) -> tuple[list[Key], NDArray[np.float64]]:
    """Sum the values (parts, ...) of parts with the same key: (keys, ...), in the order of first parts."""
    places: dict[Key, int] = {}
    index = [places.setdefault(key(part), len(places)) for part in parts]
    sums = np.zeros((len(places), *values.shape[1:]))
    np.add.at(sums, index, values)
    return list(places), sums


def _exact(tensor: Tensor) -> Tensor:
    return tensor.detach().double().cpu()
