"""Draws a model as a text tree: its parts in forward order, with identical layers drawn once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from transformer.analysis.parts import Part
from transformer.model.choices import NORM_PLACES, POSITION_WORDS
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack

_WHOLE = ("_attn", "feed_forward")
"""Parts whose matrices are not drawn: their heads and widths determine the shapes."""
_IN_ATTENTION = ("relative", "alibi", "rotary")
"""Positions applied inside the layers rather than to the embeddings."""
_HEAD_NORMS: dict[bool | str, str] = {
    "each_head": "The norms of queries and keys have weights for each head.",
    "across_heads": "The norms of queries and keys are over all heads at once.",
}
"""Notes on norms of queries and keys that aren't shared by the heads, by `query_key_norm`."""
_MIDDLE, _LAST = ("├─ ", "│  "), ("└─ ", "   ")


@dataclass(frozen=True)
class Branch:
    """One line of the drawing.

    Attributes:
        lines: the tree lines before the name, such as "│ ├─ ".
        name: the part and its number of repetitions, such as "6 × layer".
        detail: its sizes and configuration.
        n_parameters: number of parameters of the part, or of one layer where identical layers are grouped.
    """

    lines: str
    name: str
    detail: str
    n_parameters: int

    @property
    def below(self) -> str:
        """The tree lines that continue below this one."""
        return self.lines.replace(_MIDDLE[0], _MIDDLE[1]).replace(_LAST[0], _LAST[1])


def drawing(config: TransformerConfig, parts: Sequence[Part]) -> list[Branch]:
    """Draw the parts of a model, as returned by `parts.parts_of`."""
    return list(_branches(config, parts, "", top=True))


def _branches(
    config: TransformerConfig, parts: Sequence[Part], lines: str, *, top: bool = False
) -> Iterator[Branch]:
    groups = list(_alike(_unfolded(parts)))
    for number, (part, *others) in enumerate(groups):
        corner, below = _LAST if number == len(groups) - 1 else _MIDDLE
        name, detail = part.name, _detail(config, part)
        if part.name.isdecimal():
            name = f"{1 + len(others)} × layer"
            detail = f"each; {(1 + len(others)) * part.n_parameters:,} together" if others else ""
            if config.shared_layers:
                detail = "the same weights each time" if others else ""
        yield Branch("" if top else lines + corner, name, detail, part.n_parameters)
        if not part.name.endswith(_WHOLE):
            yield from _branches(config, part.parts, "" if top else lines + below)


def _unfolded(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, with each layer list replaced by its layers."""
    for part in parts:
        if part.parts and all(inner.name.isdecimal() for inner in part.parts):
            yield from part.parts
        else:
            yield part


def _alike(parts: Iterator[Part]) -> Iterator[list[Part]]:
    """Group consecutive layers with the same structure."""
    for _, group in groupby(parts, key=lambda part: _make(part) if part.name.isdecimal() else part.path):
        yield list(group)


def _make(part: Part) -> tuple[object, ...]:
    return (part.weights, *((inner.name, _make(inner)) for inner in part.parts))


def _detail(config: TransformerConfig, part: Part) -> str:
    if part.name.endswith("_attn"):
        shared = f", {config.n_kv_heads} of keys and values" if config.n_kv_heads < config.n_heads else ""
        normed = ", normed queries and keys" if config.query_key_norm is True else ""
        notes = attention_notes(config, part.path)
        return "; ".join((f"{config.n_heads} heads of {config.d_head}{shared}{normed}", *map(_within, notes)))
    if part.name == "feed_forward":
        gate = "gated " if config.gated else ""
        chosen = f"{config.n_active_experts} of {config.n_experts} experts, " if config.n_experts else ""
        sizes = f"{config.d_model:,} → {config.d_ff:,} → {config.d_model:,}"
        return f"{chosen}{sizes}, {gate}{config.activation}"
    shapes = ", ".join(f"{name} {_shape(shape)}" for name, shape in part.weights if len(shape) > 1)
    if part.name in ("encoder", "decoder"):
        positions = f", {POSITION_WORDS[config.positions]}" if config.positions in _IN_ATTENTION else ""
        return ", ".join(
            (
                f"{NORM_PLACES[config.norm_position]}{positions}",
                *_layer_notes(config),
                *filter(None, [shapes]),
            )
        )
    if part.name == "projection":
        return f"{config.d_embedding:,} → {config.d_model:,}"
    if part.name in ("src_embedding", "tgt_embedding"):
        is_added = config.positions not in (*_IN_ATTENTION, "none")
        positions = f", {POSITION_WORDS[config.positions]}" if is_added else ""
        return shapes + positions
    if part.name == "generator":
        tied = ", tied to the embedding" if config.tie_generator else ""
        return shapes + tied + (f", soft cap {config.logits_soft_cap:g}" if config.logits_soft_cap else "")
    return shapes


def _layer_notes(config: TransformerConfig) -> list[str]:
    """Notes on unusual ways of adding sublayers to the residual stream."""
    notes = ["attention and feed-forward in parallel"] if config.parallel_residual else []
    return notes + ([f"outputs times {config.residual_scale:g}"] if config.residual_scale != 1 else [])


def _within(sentence: str) -> str:
    """A sentence as a list item, without capital or full stop."""
    return sentence[0].lower() + sentence[1:].rstrip(".")


def attention_notes(config: TransformerConfig, path: str) -> list[str]:
    """Notes on unusual features of an attention and its like in other layers: scale, soft cap, mask ..."""
    is_cross, notes = path.endswith("cross_attn"), []
    stack: Stack = "encoder" if path.startswith("encoder") else "decoder"
    if config.attention_scale is not True:
        by = (
            f"are multiplied by {config.attention_factor:g}" if config.attention_scale else "stay as they are"
        )
        notes.append(f"Products of queries and keys {by}, not divided by √{config.d_head}.")
    if config.attention_soft_cap:
        notes.append(f"A soft cap keeps scores below {config.attention_soft_cap:g}.")
    if config.query_key_norm in _HEAD_NORMS:
        notes.append(_HEAD_NORMS[config.query_key_norm])
    if config.relative_bias_per_layer and not is_cross:
        notes.append("Each layer has learned a relative bias of its own.")
    if config.rotary_dims and not is_cross:
        notes.append(f"The first {config.rotary_dims} of a head's {config.d_head} dimensions are rotated.")
    if config.position_bases and not is_cross:
        notes.append(f"Rotary bases of the {stack}'s layers: {rotary_bases(config, stack)}.")
    if config.attention_windows and not is_cross:
        notes += window_notes(config.of_stack(config.attention_windows, stack))
    if is_cross and not config.memory_padding_mask:
        notes.append("It sees the source's padding, too.")
    return notes


def rotary_bases(config: TransformerConfig, stack: Stack) -> str:
    """The rotary bases of a stack's layers where they differ, each with its layers."""
    bases = config.of_stack(config.position_bases, stack)
    return "; ".join(
        f"{f'{base:,.10g}' if base else 'none'}{_in_layers(bases, base)}" for base in dict.fromkeys(bases)
    )


def window_notes(windows: Sequence[int]) -> Iterator[str]:
    """What each window closes, and in which layers if not in all."""
    for window in sorted(set(windows) - {0}):
        yield f"A sliding window closes keys {window:,} or more positions away{_in_layers(windows, window)}."


def _in_layers(of_layers: Sequence[float], value: float) -> str:
    """Say which layers have a value, or which have not if those are fewer; nothing if all have it."""
    having = [str(layer) for layer, own in enumerate(of_layers) if own == value]
    others = [str(layer) for layer, own in enumerate(of_layers) if own != value]
    if not others:
        return ""
    if len(others) < len(having):
        return f" in all layers but {', '.join(others)}"
    return f" in layer{'s' if len(having) > 1 else ''} {', '.join(having)}"


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)
