"""Variants of a model: copies of its modules with the same parameters and one change.

The model itself is never modified, since it is used elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from torch import Tensor

from transformer.model.transformer import Transformer

Change = Callable[[Transformer], None]
"""Changes a model in place; it must not be used elsewhere."""


class Recomputing(Transformer):
    """Recomputes the whole target at each decoding step, as most didactic code does.

    In a changed model, cached keys and values of earlier tokens may differ from those computed for the whole
    target.
    """

    @property
    def recomputes(self) -> bool:
        """Always true."""
        return True


def altered(model: Transformer, change: Change, *, cached: bool = False) -> Transformer:
    """Make a variant that shares the model's parameters and buffers under the same names.

    Args:
        model: the model, which is not modified.
        change: change applied to the copy.
        cached: True if earlier outputs stay valid as the target grows, so that decoding can use the cache.
    """
    variant = copy.deepcopy(model, {id(tensor): tensor for tensor in _tensors(model)})
    if not cached:
        variant.__class__ = Recomputing
    change(variant)
    return variant


def _tensors(model: Transformer) -> Iterator[Tensor]:
    """All tensors of a model: parameters, buffers, and tensors stored as plain attributes of modules."""
    for module in model.modules():
        for value in vars(module).values():
            values = value.values() if isinstance(value, dict) else (value,)
            yield from (one for one in values if isinstance(one, Tensor))
