"""The sums of a logit and of a score as figures, divided by sublayer, head or word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import MODULES, Attention, words_of
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.logit import LogitLedger
from transformer.analysis.ledgers.reading import Part, grouped
from transformer.analysis.ledgers.score import ScoreLedger
from transformer.model.trace import Stack
from transformer.run import Run
from viz.figures.grids import signed_grid
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.figures.sums import term_bars
from viz.theme import Theme

Division = Literal["sublayer", "head", "word"]
DIVISIONS: dict[Division, str] = {"sublayer": "layer and sublayer", "head": "head", "word": "word"}
SUBLAYERS = {"self_attn": "self-attention", "cross_attn": "cross-attention", "feed_forward": "feed-forward"}
MOST = 40
"""Most groups that are drawn; the smallest are summed."""


def logit_sums(
    ledger: LogitLedger, run: Run, stack: Stack, row: int, division: Division, sublayer: str = ""
) -> tuple[list[str], NDArray[np.float64]]:
    """The groups of a logit's terms, and their sums.

    Args:
        ledger: the terms.
        run: the run.
        stack: the stack that the logits come from.
        row: the row of the logits.
        division: how terms are grouped.
        sublayer: only the terms of this sublayer, as named by `sublayer_name`; by default all.
    """
    kept = [
        index
        for index, part in enumerate(ledger.parts)
        if not sublayer or (part.head is not None and sublayer_name(part) == sublayer)
    ]
    parts = [ledger.parts[index] for index in kept]
    return largest(*divided(parts, ledger.values[kept], named_by(division, run, stack, row)))


def logit_figure(
    labels: Sequence[str], sums: NDArray[np.float64], division: Division, *, theme: Theme
) -> go.Figure:
    """Draw the result of `logit_sums`."""
    return term_bars(sums, labels, theme=theme, quantity="part of the logit", axis=DIVISIONS[division])


def score_sums(
    ledger: ScoreLedger, run: Run, attention: Attention, cell: tuple[int, int], division: Division
) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """The groups of the query's and of the key's parts, and the sums of their products (queries, keys).

    Args:
        ledger: the products.
        run: the run.
        attention: the head's attention.
        cell: positions of query and key.
        division: how parts are grouped.
    """
    stack = MODULES[attention][0]
    queries = named_by(division, run, stack, cell[0])
    keys = named_by(division, run, "encoder" if attention == "cross" else stack, cell[1])
    rows, by_query = divided(ledger.query_parts, ledger.values, queries)
    columns, both = divided(ledger.key_parts, by_query.T, keys)
    return rows, columns, both.T


def score_figure(
    rows: Sequence[str], columns: Sequence[str], sums: NDArray[np.float64], *, theme: Theme
) -> go.Figure:
    """Draw the result of `score_sums`."""
    axes = ("part of the query", "part of the key")
    return signed_grid(sums, rows, columns, theme=theme, quantity="part of the score", axes=axes)


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
