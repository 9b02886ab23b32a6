"""Names of a ledger's parts, as its pictures divide them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention, words_of
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.reading import Part, grouped
from transformer.model.trace import Stack
from transformer.run import Run
from viz.figures.labels import visible
from viz.figures.numbers import number

Division = Literal["sublayer", "head", "word"]
DIVISIONS: dict[Division, str] = {"sublayer": "layer and sublayer", "head": "head", "word": "word"}
SUBLAYERS = {"self_attn": "self-attention", "cross_attn": "cross-attention", "feed_forward": "feed-forward"}
MOST = 40
"""Most groups that are drawn; the smallest are summed."""


def named_by(division: Division, run: Run, stack: Stack, position: int) -> Callable[[Part], str]:
    """The name of a part's group.

    Args:
        division: how parts are grouped. Biases are always one group.
        run: the run, for its words.
        stack: the stack whose residual stream is divided.
        position: of the token whose stream it is.
    """
    token = visible(run.trace.tokens(stack)[0][position])

    def name(part: Part) -> str:
        if part.kind in ("token", "position", "segment"):
            return f"token {token}" if part.kind == "token" else part.kind
        if part.kind == "bias":
            return "biases"
        if division == "word":
            return _by_word(part, run, stack)
        if division == "head" and part.head is not None:
            return str(HeadPlace(attention_of(part, stack), part.layer or 0, part.head))
        return sublayer_name(part)

    return name


def divided(
    parts: Sequence[Part], values: NDArray[np.float64], name: Callable[[Part], str]
) -> tuple[list[str], NDArray[np.float64]]:
    """The groups of some parts and their sums (groups, ...), as `grouped`; biases come last."""
    order = sorted(range(len(parts)), key=lambda place: parts[place].kind == "bias")
    return grouped([parts[place] for place in order], values[order], name)


def difference(total: float, recorded: float) -> str:
    """The difference between a ledger's sum and the model's number, in words."""
    apart = abs(total - recorded)
    return "below 0.0001" if apart < 1e-4 else number(apart, 4)


def sublayer_name(part: Part) -> str:
    """The sublayer that a part comes from, such as "layer 1 cross-attention"."""
    return f"layer {part.layer} {SUBLAYERS[part.sublayer]}"


def attention_of(part: Part, stack: Stack) -> Attention:
    """The attention that a head's part comes from."""
    return "cross" if part.sublayer == "cross_attn" else stack


def _by_word(part: Part, run: Run, stack: Stack) -> str:
    if part.position is None:
        return "feed-forwards" if part.kind == "feed_forward" else "attention"
    is_source = part.sublayer == "cross_attn" or stack == "encoder"
    words = words_of(run, "encoder" if is_source else "decoder")
    word = int(words.word_of[part.position])
    return f"{'source' if is_source else 'prefix'} {word}: {visible(words.labels[word])}"


def largest(labels: list[str], values: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
    """The `MOST` largest of some terms in their order; the others are summed, and zeros left out."""
    strength = np.abs(values)
    kept = np.sort(np.argsort(-strength, kind="stable")[:MOST])
    kept = kept[strength[kept] > 0]
    shown = [labels[index] for index in kept]
    rest = np.delete(values, kept)
    n_rest = int(np.count_nonzero(rest))
    if n_rest:
        return [*shown, f"{n_rest:,} others"], np.append(values[kept], rest.sum())
    return shown, values[kept]
