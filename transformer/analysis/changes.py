"""Compares two runs of the same tokens tensor by tensor: where they first differ, and where most."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.model.trace import Trace

STAGES = (
    "_embedding.tokens",
    "_embedding.positions",
    "_embedding.out",
    "attn.weights",
    "attn.out",
    "norm.result",
    "feed_forward.out",
    "logits",
)
"""Path suffixes of the compared tensors, one or more per module."""
PARTED = 1e-3
"""Threshold above which a change can't be rounding: summing in another order changes a run by about 1e-6."""
MODULES = {
    "src_embedding": "source embedding",
    "tgt_embedding": "target embedding",
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "feed_forward": "feed-forward",
    "self_attn_norm": "norm of self-attention",
    "cross_attn_norm": "norm of cross-attention",
    "feed_forward_norm": "norm of feed-forward",
    "self_attn_post_norm": "norm of what self-attention adds",
    "cross_attn_post_norm": "norm of what cross-attention adds",
    "feed_forward_post_norm": "norm of what the feed-forward adds",
    "final_norm": "final norm",
    "q_norm": "norm of the queries",
    "k_norm": "norm of the keys",
    "norm": "norm",
    "generator_transform": "generator",
}
"""Name of a module in a path -> its name in words."""
TENSORS = {
    "tokens": "embeddings of the tokens",
    "positions": "positional encoding",
    "weights": "weights",
    "out": "output",
    "result": "output",
}
"""Name of a tensor in a path -> its name in words."""


@dataclass(frozen=True)
class Change:
    """The distance between the same tensor in two runs.

    Attributes:
        path: path of the tensor.
        size: from 0 (equal) to 1; also 1 if one is not finite: see `distance`.
        head: the head concerned; None for the whole tensor.
        missing: true if the other run lacks the tensor or has another shape; the size is then 1.
    """

    path: str
    size: float
    head: int | None = None
    missing: bool = False


def distance(a: Tensor, b: Tensor) -> float:
    """|a - b| / (|a| + |b|) of two tensors of the same shape, from 0 (equal) to 1."""
    a, b = a.double(), b.double()
    if not (a.isfinite().all() and b.isfinite().all()):
        return 1.0
    lengths = float(a.norm() + b.norm())
    return float((a - b).norm()) / lengths if lengths else 0.0


def changes(sound: Trace, broken: Trace) -> list[Change]:
    """The distance at each stage, in forward order."""
    found = []
    for path, tensor in sound.items():
        if path.endswith(STAGES):
            other = broken.get(path)
            missing = other is None or other.shape != tensor.shape
            size = 1.0 if other is None or missing else distance(tensor, other)
            found.append(Change(path, size, missing=missing))
    return found


def head_changes(sound: Trace, broken: Trace) -> list[Change]:
    """The distance of each head's attention weights."""
    return [
        Change(path, distance(one, other), head)
        for path, tensor in sound.items()
        if path.endswith("attn.weights") and path in broken and broken[path].shape == tensor.shape
        for head, (one, other) in enumerate(
            zip(torch.unbind(tensor, 1), torch.unbind(broken[path], 1), strict=True)
        )
    ]


def first_parted(found: list[Change]) -> Change | None:
    """The first stage that differs by more than rounding; None if there is none."""
    return next((change for change in found if change.size > PARTED), None)


def in_words(path: str, head: int | None = None) -> str:
    """The path of a tensor in words, such as "encoder, layer 0, self-attention, head 2: weights"."""
    *modules, tensor = path.split(".")
    parts = [f"layer {part}" if part.isdecimal() else MODULES.get(part, part) for part in modules]
    place = ", ".join(part for part in parts if part != "layers")
    if head is not None:
        place += f", head {head}"
    return f"{place}: {TENSORS.get(tensor, tensor)}" if place else tensor


def part_of(path: str) -> str:
    """The part of the model that a stage belongs to, as an axis label."""
    stack, *rest = path.split(".")
    if rest and rest[0] == "layers":
        return f"{stack} {rest[1]}"
    return {"src_embedding": "source", "tgt_embedding": "target"}.get(stack, "end")
