"""The sentence of each step: what moves, what it meets and what comes of it, with the run's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from viz.components.path import Array, Part, Role
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.step_by_step.path.parts import is_norm, motion_of, row_of
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.way import Way

Piece: TypeAlias = tuple[Role | Literal[""], str]
VECTORS = {
    "q": ("the query q", "what {} looks for"),
    "k": ("its key", "what it offers to be found by"),
    "v": ("its value", "what it hands over when it is looked at"),
}


def sentence_of(stage: Stage, parts: Sequence[Part], way: Way) -> list[Piece]:
    """The explanation of a step, in pieces."""
    token = quoted(way.tokens(stage.stack or way.writer)[row_of(stage, way)])
    kind = stage.name.removeprefix("self-").removeprefix("cross-").removeprefix("target-")
    if kind in _OWN:
        return _OWN[kind](stage, parts, way, token)
    if is_norm(stage) and motion_of(stage) == "change":
        return _norm(parts)
    match motion_of(stage):
        case "match":
            return _matched(stage, parts, token)
        case "column":
            return _column(kind, parts)
        case "sum":
            return _sum(parts)
        case "change":
            return _change(stage, parts)
        case "project" | "each":
            return _project(stage, parts)
        case _:
            return [("out", parts[-1].name), ("", f": {stage.title.lower()}.")]


def quoted(token: str) -> str:
    """A token in quotation marks, isolated from the direction of the text around it."""
    return f"“\u2068{visible(token)}\u2069”"


def _length(values: Array) -> str:
    return number(float(np.linalg.norm(values)), 2)


def _largest(values: Array) -> str:
    return number(float(np.abs(values).max()), 2)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _norm(parts: Sequence[Part]) -> list[Piece]:
    x, out = parts[0], parts[-1]
    return [
        ("in", x.name),
        ("", f" is {_length(x.values)} long. "),
        ("with", "The norm"),
        ("", " brings its numbers to one size, and "),
        ("out", out.name),
        ("", f" is {_length(out.values)} long. No other token takes part."),
    ]


def _matched(stage: Stage, parts: Sequence[Part], token: str) -> list[Piece]:
    query, answers, out = parts[0], parts[1], parts[-1]
    best = int(np.nan_to_num(out.values, nan=-np.inf).argmax())
    top = f": the highest is {number(float(out.values[best]), 2)}, for {quoted(out.labels[best])}."
    if stage.stack is None:
        return [
            ("in", query.name),
            ("", f" of {token} meets "),
            ("with", "the vectors of vocabulary entries"),
            ("", f" (the best {len(out.labels)} are shown). Each product is "),
            ("out", "a logit"),
            ("", top),
        ]
    return [
        ("in", query.name),
        ("", f" of {token} meets "),
        ("with", f"the key of each of {_count(len(out.labels), 'token')}"),
        ("", ": multiplied number by number and summed, each gives "),
        ("out", "a score"),
        ("", top.replace(": the", "; the", 1)),
    ]


def _column(kind: str, parts: Sequence[Part]) -> list[Piece]:
    before, out = parts[0], parts[-1]
    if out.is_share:
        best = int(np.nan_to_num(out.values).argmax())
        name = "probabilities" if kind == "probabilities" else "weights"
        whole = " over the whole vocabulary" if kind == "probabilities" else ""
        total = "" if whole else " that sum to 1"
        return [
            ("", f"Softmax{whole} turns "),
            ("in", "logits" if whole else "the scores"),
            ("", " into "),
            ("out", name),
            (
                "",
                f"{total}: the largest, {number(float(out.values[best]), 2)}, for {quoted(out.labels[best])}.",
            ),
        ]
    if kind == "mask":
        closed = 0 if out.closed is None else int(out.closed.sum())
        what = (
            f": {closed} of {_count(len(out.labels), 'key')} closed, with a score of −∞ from here on."
            if closed
            else ": every key is open to this query, so the scores stay as they are."
        )
        return [("", "The mask is applied to "), ("in", "the scores"), ("", what)]
    change = float(np.abs(out.values - before.values).max())
    how = "the bias by distance is added" if kind == "bias" else "the soft cap is applied"
    return [
        ("", "To "),
        ("in", before.name),
        ("", f", {how}: "),
        ("out", out.name),
        ("", f". The largest change is {number(change, 2)}."),
    ]


def _sum(parts: Sequence[Part]) -> list[Piece]:
    x, *added, out = parts
    pieces: list[Piece] = [("in", x.name), ("", f" ({_length(x.values)} long)")]
    for part in added:
        pieces += [("", " plus "), ("with", part.name), ("", f" ({_length(part.values)} long)")]
    return [
        *pieces,
        ("", ", number by number: "),
        ("out", f"the new {out.name}"),
        ("", ", on the same scale."),
    ]


def _change(stage: Stage, parts: Sequence[Part]) -> list[Piece]:
    x, out = parts[0], parts[-1]
    pieces: list[Piece] = [("in", x.name), ("", f": {stage.title[0].lower()}{stage.title[1:]}. ")]
    if x.values.size != out.values.size:
        return [*pieces, ("out", out.name), ("", f" has {_count(out.values.size, 'number')}.")]
    return [
        *pieces,
        ("", f"Its largest number, {_largest(x.values)}, becomes {_largest(out.values)} in "),
        ("out", out.name),
        ("", " (one colour scale for both)."),
    ]


def _project(stage: Stage, parts: Sequence[Part]) -> list[Piece]:
    x, out = next(part for part in parts if part.role == "in"), parts[-1]
    weights = next((part for part in parts if part.form == "weights"), None)
    if weights is None:
        return [("in", x.name), ("", f": {stage.title[0].lower()}{stage.title[1:]}, giving "), ("out", out.name), ("", ".")]  # fmt: skip
    function = stage.operands[0].sign.removesuffix(" of")
    through = f", through {function}" if function.isalpha() else ""
    return [
        ("in", f"{x.name} ({_count(x.values.shape[-1], 'number')})"),
        ("", " passes through "),
        ("with", weights.name),
        ("", f"{through}; each of its rows gives one number of "),
        ("out", f"{out.name} ({_count(out.values.shape[-1], 'number')})"),
        ("", f", here times that of {parts[0].name}." if parts[0] is not x else "."),
    ]


def _vector(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    letter = stage.name.rpartition("-")[2]
    x, weights, out = parts[0], parts[1], parts[-1]
    name, purpose = VECTORS[letter]
    whose = f"{x.name} of {token}" if letter == "q" else f"{x.name} of every token"
    return [
        ("in", whose),
        ("", " times the learned "),
        ("with", weights.name),
        ("", " gives "),
        ("out", name),
        ("", f": {purpose.format(token)}, in {_count(out.values.shape[-1], 'number')}."),
    ]


def _taken(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    weights, _, out = parts
    order = np.argsort(-weights.values)[:2]
    taken = " and ".join(
        f"{number(float(weights.values[key]), 2)} of {quoted(weights.labels[key])}" for key in order
    )
    return [
        ("in", "Each weight"),
        ("", " takes its share of "),
        ("with", "that token's value"),
        ("", ", and the shares add up to "),
        ("out", "z"),
        ("", f": {taken}{', and less of the others' if len(weights.values) > 2 else ''}."),
    ]


def _joined(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    heads, out = parts
    width = heads.values.shape[1]
    return [
        ("in", f"z of all {_count(len(heads.values), 'head')}"),
        ("", ", side by side, is "),
        ("out", f"one vector of {_count(out.values.size, 'number')}"),
        (
            "",
            f". Head {way.head}, which was followed, fills {way.head * width} to {(way.head + 1) * width - 1}.",
        ),
    ]


def _attended(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("in", "All heads together"),
        ("", " pass through "),
        ("with", "W_O"),
        ("", ", which mixes them: "),
        ("out", "what the attention adds"),
        ("", f" to {token}, {_length(parts[-1].values)} long."),
    ]


def _text(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [("out", _count(len(parts[-1].labels), "word")), ("", " and signs of punctuation: the text as it was typed.")]  # fmt: skip


def _tokens(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("out", _count(len(parts[-1].labels), "token")),
        ("", " of the vocabulary. The path follows the framed one, "),
        ("out", token),
        ("", "."),
    ]


def _id(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    place = f"{int(parts[-1].values[0]):,}"
    return [("", f"{token} is entry "), ("out", place), ("", " of the vocabulary: a place, not a size.")]


def _embedding(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("in", f"The id of {token}"),
        ("", " picks its row of the embedding matrix: "),
        ("out", f"{_count(parts[-1].values.size, 'learned number')}"),
        ("", ", the same wherever the token stands."),
    ]


def _position(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("out", f"Position {row_of(stage, way)}"),
        ("", " has a vector of its own, whatever token is there. It is added next."),
    ]


def _layers(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("in", f"{parts[0].name} of {token}"),
        (
            "",
            f" passes through {stage.title[0].lower()}{stage.title[1:]}, in the same steps. It comes out as ",
        ),
        ("out", parts[-1].name),
        ("", f", {_length(parts[-1].values)} long (it was {_length(parts[0].values)})."),
    ]


def _memory(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [
        ("in", f"The encoder's last vector of {token}"),
        ("", " is "),
        (
            "out",
            f"its row of the memory M, which {'every layer' if way.config.n_decoder_layers > 1 else 'the layer'} of the decoder reads",
        ),  # fmt: skip
        ("", "."),
    ]


def _choice(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    best, chosen = parts[0], parts[-1].labels[0]
    share = f"{float(best.values[0]):.1%}"
    if chosen == best.labels[0]:
        return [("in", f"The most probable token, at {share},"), ("", " is taken: "), ("out", quoted(chosen)), ("", ".")]  # fmt: skip
    return [("", "The given token is "), ("out", quoted(chosen)), ("", "; the most probable would be "), ("in", quoted(best.labels[0])), ("", f", at {share}.")]  # fmt: skip


def _round(stage: Stage, parts: Sequence[Part], way: Way, token: str) -> list[Piece]:
    return [("out", f"{_count(len(parts[-1].labels), 'token')}"), ("", " are what the decoder reads now.")]


_OWN = {
    "text": _text,
    "tokens": _tokens,
    "ids": _id,
    "embedding": _embedding,
    "positions": _position,
    **dict.fromkeys(("q", "k", "v"), _vector),
    "z": _taken,
    "heads": _joined,
    "out": _attended,
    **dict.fromkeys(("layers-before", "layers-after", "encoder-layers", "decoder-layers"), _layers),
    "memory": _memory,
    "choice": _choice,
    "round": _round,
}
