"""Where the stacks, embeddings, positions and generator of a person's own torch.nn.Transformer module are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from transformer.checkpoints.reading.raw import StoredTensor

_LAYER = re.compile(r"(.*?)layers\.\d+\.self_attn\.(in_proj_weight|q_proj_weight|out_proj\.weight)")
_OF_TARGET = re.compile(r"(^|[._])(tgt|trg|target|dec|decoder|out|output)([._]|$|\d|emb|tok)")
_OF_SOURCE = re.compile(r"(^|[._])(src|source|enc|encoder|inp|input)([._]|$|\d|emb|tok)")
_OF_POSITIONS = re.compile(r"(^|[._])(pe|pos\w*|\w*positions?\w*)([._]|$)")


@dataclass(frozen=True)
class Parts:
    """What was found; each a name of a tensor or, for stacks, the prefix of their names.

    Attributes:
        encoders: prefixes of stacks of layers without cross-attention, "" among them.
        decoders: prefixes of stacks of layers with it.
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
    prefixes = {match[1] for match in map(_LAYER.match, tensors) if match}
    decoders = {
        prefix for prefix in prefixes if f"{prefix}layers.0.multihead_attn.out_proj.weight" in tensors
    }
    encoders = prefixes - decoders
    stacks = tuple(sorted(encoders | decoders))
    if not stacks:
        return Parts()
    d_model = tensors[f"{stacks[0]}layers.0.self_attn.out_proj.weight"].shape[0]
    outside = {
        name: stored
        for name, stored in tensors.items()
        if not any(name.startswith((f"{stack}layers.", f"{stack}norm.")) for stack in stacks)
        and stored.shape
        and stored.shape[-1] == d_model
    }
    tables = [name for name in outside if _OF_POSITIONS.search(name) and _is_table(outside[name].shape)]
    matrices = [name for name, stored in outside.items() if len(stored.shape) == 2 and name not in tables]
    generators = [name for name in matrices if _has_bias(name, tensors)] or _named(
        matrices, ("generator", "lm_head", "fc_out", "projection", "proj", "linear", "head", "fc")
    )
    embeddings = [name for name in matrices if name not in generators]
    src, tgt = _sides(embeddings)
    src_positions, tgt_positions = _sides(tables)
    return Parts(
        encoders=tuple(sorted(encoders)),
        decoders=tuple(sorted(decoders)),
        src_embedding=src,
        tgt_embedding=tgt,
        src_positions=src_positions,
        tgt_positions=tgt_positions,
        generator=generators[-1] if generators else None,
    )


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
