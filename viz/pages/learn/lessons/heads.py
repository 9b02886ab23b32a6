"""Lesson 5: why there are several heads."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    Attention,
    AttentionMaps,
    attention_maps,
    attentions,
    closed_cells,
)
from viz.figures.attention import attention_grid, attention_heatmap
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.habits import HABITS, Head, clearest_of, habits_of, rows_with
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Step, Viewing
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme


def attention_of(subject: Subject) -> Attention:
    """The self-attention that the lesson is about."""
    return attentions(subject.run.trace)[0]


def maps_of(subject: Subject) -> AttentionMaps:
    """The weights of all layers and heads."""
    return subject.kept("heads", lambda: attention_maps(subject.run.trace, attention_of(subject), "weights"))


def clearest(subject: Subject) -> Head:
    """The head that the lesson is about."""
    return subject.kept("clearest head", lambda: clearest_of(maps_of(subject)))


def spreads(subject: Subject) -> tuple[float, float]:
    """Over how many tokens rows are spread (2 to their entropy): one head's, on average; the heads' mean."""
    maps = maps_of(subject)
    rows = maps.allowed.sum(axis=1) > 1
    rows = rows if rows.any() else np.ones_like(rows)
    weights = maps.values[clearest(subject).layer][:, rows].astype(np.float64)
    return float((2 ** _entropy(weights)).mean()), float((2 ** _entropy(weights.mean(axis=0))).mean())


def _entropy(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return -(weights * np.log2(weights, where=weights > 0, out=np.zeros_like(weights))).sum(axis=-1)


def _query(subject: Subject) -> int:
    """The row to ask about: the clearest head's most focused word among those that can follow its habit."""
    found = clearest(subject)
    maps = maps_of(subject)
    able = rows_with(maps, found.habit)
    words = able & subject.is_word(MODULES[attention_of(subject)][0])
    rows = np.flatnonzero(words if words.any() else able)
    most = maps.values[found.layer, found.head].max(axis=1)
    return int(rows[most[rows].argmax()])


def _one_token(subject: Subject) -> str:
    return (
        "" if len(maps_of(subject).key_tokens) > 1 else "Of one token there is nothing to choose: type more."
    )


def _asks_where(subject: Subject) -> str:
    found, maps = clearest(subject), maps_of(subject)
    token = maps.query_tokens[_query(subject)]
    return (
        f"Head {found.head} of layer {found.layer} has a habit: on average a token gives {found.share:.0%} "
        f"of its attention in it to {HABITS[found.habit]}. Which token does {quoted(token)}, at position "
        f"{_query(subject)}, look at most in it?"
    )


def _row(subject: Subject) -> list[float | None]:
    found, maps, query = clearest(subject), maps_of(subject), _query(subject)
    weights = maps.values[found.layer, found.head, query]
    return [float(w) if is_open else None for w, is_open in zip(weights, maps.allowed[query], strict=True)]


def _asked_cell(subject: Subject) -> tuple[int, int]:
    found, query = clearest(subject), _query(subject)
    return query, int(maps_of(subject).values[found.layer, found.head, query].argmax())


def _reason_where(subject: Subject) -> str:
    found, maps = clearest(subject), maps_of(subject)
    query, key = _asked_cell(subject)
    weights = maps.values[found.layer, found.head, query]
    follows = (
        ("itself", key == query),
        ("the token before", key == query - 1),
        ("the token after", key == query + 1),
    )
    place = next((name for name, is_so in follows if is_so), f"the token at position {key}")
    return (
        f"It gives {weights[key]:.0%} to {quoted(maps.key_tokens[key])}, {place}. A habit is an average: "
        "the words of a sentence can outweigh it."
    )


def _reason_blur(subject: Subject) -> str:
    own, mean = spreads(subject)
    return (
        f"A row of one head is spread over {own:.1f} tokens on average, a row of their mean over "
        f"{mean:.1f}. An average of sharp pictures that differ is a grey blur, and it is nobody's: no head "
        "looks so. Whoever shows heads averaged shows what the model does not do."
    )


def _other(subject: Subject) -> int:
    """The strongest habit of any head other than the clearest head's own."""
    most = habits_of(maps_of(subject)).max(axis=(1, 2))
    most[clearest(subject).habit] = -1
    return int(most.argmax())


def _grid(subject: Subject) -> NDArray[np.float64]:
    habits: NDArray[np.float64] = habits_of(maps_of(subject))[_other(subject)]
    return habits


def _grid_of(subject: Subject, values: NDArray[np.float32], theme: Theme) -> go.Figure:
    maps = maps_of(subject)
    return attention_grid(values, maps.query_tokens, maps.key_tokens, theme=theme, closed=closed_cells(maps))


def _head_of(subject: Subject, values: NDArray[np.float32], theme: Theme) -> go.Figure:
    maps = maps_of(subject)
    return attention_heatmap(
        values, maps.query_tokens, maps.key_tokens, theme=theme, closed=closed_cells(maps)
    )


def _average(subject: Subject, theme: Theme) -> go.Figure:
    return _head_of(subject, maps_of(subject).values[clearest(subject).layer].mean(axis=0), theme)


def _doing_so(subject: Subject, theme: Theme) -> go.Figure:
    """The head in which the other habit is strongest."""
    grid = _grid(subject)
    layer, head = np.unravel_index(int(grid.argmax()), grid.shape)
    return _head_of(subject, maps_of(subject).values[layer, head], theme)


def _reason_which(subject: Subject) -> str:
    grid = _grid(subject)
    layer, head = np.unravel_index(int(grid.argmax()), grid.shape)
    return (
        f"In head {head} of layer {layer}, with {grid.max():.0%}; the mean of all heads is "
        f"{grid.mean():.0%}. Heads of one layer start alike and grow apart in training, because two heads "
        "that do the same are of less use than two that don't."
    )


LESSON = Lesson(
    number=5,
    title="Several heads",
    asks=("Why are there many heads?", "Why not average them?"),
    unfit=lambda subject: (
        ""
        if subject.config.n_heads > 1
        else "This model has one head per layer, so there is nothing to compare. Choose another model in "
        "the sidebar."
    ),
    steps=(
        Step(
            "As many looks as heads",
            "Softmax makes a head choose: what it gives to one token it takes from the others. But a word "
            "may need its subject *and* the word before it. So a layer has several heads, each with a W_Q, "
            "W_K and W_V of its own.",
            NumberQuestion(
                name="width",
                asks=lambda subject: (
                    f"This model's vectors have d_model = {subject.config.d_model} numbers, and it has "
                    f"{subject.config.n_heads} heads. How many numbers has a query in one head?"
                ),
                answer=lambda subject: subject.config.d_head,
                unit="numbers",
                least=1,
                most=lambda _: 100_000,
                reason=lambda subject: (
                    f"{subject.config.d_model} / {subject.config.n_heads} = {subject.config.d_head}: the "
                    "heads share the width, so that several cost no more than one."
                    if subject.config.d_head * subject.config.n_heads == subject.config.d_model
                    else f"{subject.config.d_head}: in this model it is a choice of its own. In most it is "
                    "d_model divided by the number of heads, so that several cost no more than one."
                ),
            ),
            Figure(
                lambda subject, theme: _grid_of(subject, maps_of(subject).values[:1], theme),
                "Your sentence in all heads of layer 0. A row is a token that looks, a column one "
                "that is looked at; the stronger its colour, the more.",
                "lesson-layer",
            ),
        ),
        Step(
            "Each with a habit",
            lambda subject: (
                "Some heads look at the same place whatever the sentence says. This is about the "
                f"**{ATTENTION_LABELS[attention_of(subject)].lower()}** of your sentence."
            ),
            TokenQuestion(
                name="habit",
                asks=_asks_where,
                tokens=lambda subject: maps_of(subject).key_tokens,
                values=_row,
                unit="attention weight",
                reason=_reason_where,
                pointless=_one_token,
            ),
            Viewing(
                lambda subject: {
                    "attention": attention_of(subject),
                    "view": "layer",
                    "layer": clearest(subject).layer,
                    "head": clearest(subject).head,
                    "cell": _asked_cell(subject),
                },
                views=("layer",),
            ),
        ),
        Step(
            "Who does what",
            "Nobody assigns these habits. Each head starts from random numbers, and training finds its own.",
            CellQuestion(
                name="which",
                asks=lambda subject: (
                    "Each cell here is a head; layer 0 is the first that a sentence goes through. In which "
                    f"head does a token give most of its attention to {HABITS[_other(subject)]}, on average?"
                ),
                rows=lambda subject: [f"layer {layer}" for layer in range(maps_of(subject).n_layers)],
                columns=lambda subject: [f"head {head}" for head in range(maps_of(subject).n_heads)],
                axes=("layer", "head"),
                values=_grid,
                unit="mean weight",
                reason=_reason_which,
                pointless=_one_token,
            ),
            Figure(
                _doing_so,
                "That head with all its rows: look for the diagonal or the column of its habit.",
                "lesson-habit",
            ),
        ),
        Step(
            "Why not show their average?",
            lambda subject: (
                "How sharp is a row? One that gives all its weight to one token is spread over 1; one that "
                f"gives the same to all {len(maps_of(subject).key_tokens)} is spread over "
                f"{len(maps_of(subject).key_tokens)}. Between them it is 2 to the power of its entropy in "
                "bits."
            ),
            NumberQuestion(
                name="blur",
                asks=lambda subject: (
                    f"In layer {clearest(subject).layer} a row of one head is spread over about "
                    f"{spreads(subject)[0]:.1f} of {len(maps_of(subject).key_tokens)} tokens, on average. "
                    f"Take the mean of the {maps_of(subject).n_heads} heads: over how many tokens is a row "
                    "of that spread?"
                ),
                answer=lambda subject: spreads(subject)[1],
                unit="tokens",
                least=1,
                most=lambda subject: float(len(maps_of(subject).key_tokens)),
                step=0.1,
                share=0.15,
                reason=_reason_blur,
                pointless=_one_token,
            ),
            contrast=Contrast(
                "What is shown",
                {
                    "All heads": Figure(
                        lambda subject, theme: _grid_of(subject, maps_of(subject).values, theme),
                        "Every head, each with its own picture.",
                        "lesson-heads",
                    ),
                    "The average of a layer": Figure(
                        _average,
                        "The mean of the weights of that layer's heads.",
                        "lesson-heads-averaged",
                    ),
                },
            ),
        ),
    ),
    takeaway=(
        "Each head makes one choice per token; several of them let a token look at several things at once."
    ),
    onward=(
        Onward(
            "All heads on Explore, the sharpest first",
            "explore",
            lambda subject: {"attention": attention_of(subject), "sort": "sharpness"},
        ),
    ),
)
