"""Hyperparameters that a trainer saved beside the weights: which answers they make likely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

HINTS: Mapping[str, tuple[str, ...]] = {
    "n_heads": (
        "nhead",
        "n_head",
        "n_heads",
        "num_heads",
        "heads",
        "num_attention_heads",
        "attention_heads",
        "h",
    ),
    "norm_position": ("norm_first", "pre_norm", "prenorm", "normalize_before"),
    "activation": ("activation", "activation_function", "activation_fn"),
    "norm_eps": ("layer_norm_eps", "layer_norm_epsilon", "norm_eps"),
    "pad_id": ("pad_id", "pad_idx", "padding_idx", "pad_token_id", "src_pad_idx"),
}
"""Question -> the names under which people keep its answer."""

_NORM_FIRST = {True: "pre", False: "post"}
_DEEPEST = 4


def hint(question: str, extras: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The name and the value, as an answer of ours, of what looks like an answer; None for nothing."""
    for name, value in _entries(extras, _DEEPEST):
        if name.lower() in HINTS.get(question, ()):
            if isinstance(value, bool):
                if question == "norm_position":
                    return name, _NORM_FIRST[value]
            elif question != "norm_position" and isinstance(value, int | float | str):
                return name, value
    return None


def _entries(extras: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in extras.items():
        if isinstance(value, Mapping) and depth:
            yield from _entries(value, depth - 1)
        else:
            yield str(name), value
