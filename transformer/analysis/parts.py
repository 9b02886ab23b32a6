"""A model's parameters by part and layer, computed from its configuration without reading weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class Part:
    """A part of a model: a stack, a layer, an attention.

    Attributes:
        path: path of the module, such as "encoder.layers.0.self_attn".
        n_parameters: number of parameters including all parts; a shared matrix counts only at its first
            place.
        parts: its direct parts.
        weights: names and shapes of the weights directly in it.
    """

    path: str
    n_parameters: int
    parts: tuple[Part, ...] = ()
    weights: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.rpartition(".")[2]


@lru_cache(maxsize=8)
def parts_of(config: TransformerConfig) -> tuple[Part, ...]:
    """The parts of the model that a configuration describes, in forward order."""
    with torch.device("meta"):
        model = Transformer(config)
    return _children(model, "", set())


def total(parts: tuple[Part, ...]) -> int:
    """The number of parameters in these parts."""
    return sum(part.n_parameters for part in parts)


def _children(module: torch.nn.Module, path: str, counted: set[int]) -> tuple[Part, ...]:
    prefix = f"{path}." if path else ""
    # Layers that share one module are separate parts, but their parameters are counted once.
    own = ((name, child) for name, child in module.named_modules(remove_duplicate=False) if name)
    parts = (_part(child, prefix + name, counted) for name, child in own if "." not in name)
    return tuple(part for part in parts if part.weights or part.parts)


def _part(module: torch.nn.Module, path: str, counted: set[int]) -> Part:
    n_own, weights = 0, []
    for name, parameter in module.named_parameters(recurse=False):
        weights.append((name, tuple(parameter.shape)))
        if id(parameter) not in counted:
            counted.add(id(parameter))
            n_own += parameter.numel()
    parts = _children(module, path, counted)
    return Part(path, n_own + total(parts), parts, tuple(weights))
