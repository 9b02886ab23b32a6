"""Where the stacks, embeddings, positions and generator of a person's own torch.nn.Transformer module are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from transformer.checkpoints.reading.raw import StoredTensor

_LAYER = re.compile(r"((?:.*\.)?\w+\.)\d+\.self_attn\.in_proj_weight")
_LINEAR_LAYERS = ("generator", "lm_head", "fc_out", "projection", "proj", "linear", "head", "fc")
_FINAL_NORMS = ("norm", "ln_f", "final_norm", "layer_norm", "ln")
_OF_TARGET = re.compile(r"(^|[._])(tgt|trg|target|dec|decoder|out|output)([._]|$|\d|emb|tok)")
_OF_SOURCE = re.compile(r"(^|[._])(src|source|enc|encoder|inp|input)([._]|$|\d|emb|tok)")
_OF_POSITIONS = re.compile(r"(^|[._])(pe|pos\w*|\w*positions?\w*)([._]|$)")


@dataclass(frozen=True)
class Parts:
    """What was found; each a name of a tensor or, for stacks, what their names begin with.

    Attributes:
        encoders: beginnings of stacks of layers without cross-attention, such as "encoder.layers.".
        decoders: the same of stacks with it.
        src_embedding, tgt_embedding: (V, D) each, the same for both where there is one.
        src_positions, tgt_positions: tables of positions, learned or computed.
        generator: (V, D), a linear layer.
    """

    encoders: tuple[str, ...] = ()
    decoders: tuple[str, ...] = ()
    src_embedding: str | None = None
    tgt_embedding: str | None = None
    src_positions: str | None = None
    tgt_positions: str | None = None
    generator: str | None = None


def find_parts(tensors: Mapping[str, StoredTensor]) -> Parts:
    """Look through names and shapes."""
    stacks = {match[1] for match in map(_LAYER.fullmatch, tensors) if match}
    decoders = {stack for stack in stacks if f"{stack}0.multihead_attn.in_proj_weight" in tensors}
    if not stacks:
        return Parts()
    d_model = next(stored.shape[-1] for name, stored in tensors.items() if _LAYER.fullmatch(name))
    outside = {
        name: stored
        for name, stored in tensors.items()
        if not name.startswith(tuple(stacks)) and stored.shape and stored.shape[-1] == d_model
    }
    tables = [name for name in outside if _OF_POSITIONS.search(name) and _is_table(outside[name].shape)]
    matrices = [name for name, stored in outside.items() if len(stored.shape) == 2 and name not in tables]
    linear = [name for name in matrices if _has_bias(name, tensors)]
    linear += [name for name in _named(matrices, _LINEAR_LAYERS) if name not in linear]
    src, tgt = _sides([name for name in matrices if name not in linear])
    words = {tensors[name].shape[0] for name in (src, tgt) if name is not None}
    generators = [name for name in linear if not words or tensors[name].shape[0] in words]
    src_positions, tgt_positions = _sides(tables)
    return Parts(
        encoders=tuple(sorted(stacks - decoders)),
        decoders=tuple(sorted(decoders)),
        src_embedding=src,
        tgt_embedding=tgt,
        src_positions=src_positions,
        tgt_positions=tgt_positions,
        generator=generators[-1] if generators else None,
    )


def final_norm(stack: str, tensors: Mapping[str, StoredTensor]) -> str | None:
    """The name, without weight and bias, of the norm that stands behind a stack; None without one."""
    parent = stack.removesuffix(".").rpartition(".")[0]
    names = (f"{parent}.{norm}" if parent else norm for norm in _FINAL_NORMS)
    return next((name for name in names if f"{name}.weight" in tensors), None)


def _is_table(shape: tuple[int, ...]) -> bool:
    """(length, D), or with axes of 1 for the batch: (length, 1, D) or (1, length, D)."""
    return len(shape) == 2 or (len(shape) == 3 and 1 in shape[:2])


def _has_bias(name: str, tensors: Mapping[str, StoredTensor]) -> bool:
    """Whether a matrix (V, D) belongs to a linear layer: its module has a bias (V,) too."""
    module, _, attribute = name.rpartition(".")
    bias = tensors.get(f"{module}.bias")
    return attribute == "weight" and bias is not None and bias.shape == tensors[name].shape[:1]


def _named(names: Iterable[str], words: tuple[str, ...]) -> list[str]:
    parts = ((name, re.split(r"[._]", name.lower())) for name in names)
    return [name for name, of_name in parts if any(word in of_name for word in words)]


def _sides(names: list[str]) -> tuple[str | None, str | None]:
    """Which of the names is the source's and which the target's; a single one is both."""
    if len(names) < 2:
        only = names[0] if names else None
        return only, only
    tgt = next((name for name in names if _OF_TARGET.search(name.lower())), None)
    src = next((name for name in names if _OF_SOURCE.search(name.lower()) and name != tgt), None)
    rest = [name for name in names if name not in (src, tgt)]
    if src is None and rest:
        src = rest.pop(0)
    if tgt is None and rest:
        tgt = rest.pop(0)
    return src, tgt
