"""Variants of a model: a copy of its modules around the same parameters, with one thing changed.

The model itself is never touched, since others are using it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from torch import Tensor

from transformer.model.transformer import Transformer

Change = Callable[[Transformer], None]
"""Changes a model in place; nothing else uses it."""


class Recomputing(Transformer):
    """Recomputes the whole target at each decoding step, as most code written to be read does.

    Once a model is changed, cached keys and values of earlier tokens may differ from what the whole target
    would give.
    """

    @property
    def recomputes(self) -> bool:
        """Always true."""
        return True


def altered(model: Transformer, change: Change, *, cached: bool = False) -> Transformer:
    """Make a variant that shares the model's parameters and buffers under the same names.

    Args:
        model: stays as it is.
        change: applied to the copy.
        cached: True where earlier outputs stay valid as the target grows, so that decoding may use its cache.
    """
    variant = copy.deepcopy(model, {id(tensor): tensor for tensor in _tensors(model)})
    if not cached:
        variant.__class__ = Recomputing
    change(variant)
    return variant


def _tensors(model: Transformer) -> Iterator[Tensor]:
    """Every tensor of a model: parameters, buffers, and those that modules store as plain attributes."""
    for module in model.modules():
        for value in vars(module).values():
            values = value.values() if isinstance(value, dict) else (value,)
            yield from (one for one in values if isinstance(one, Tensor))
