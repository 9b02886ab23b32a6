"""Lesson 5: why there are several heads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    Attention,
    AttentionMaps,
    attention_maps,
    attentions,
)
from viz.figures.attention import attention_grid, attention_heatmap
from viz.lessons.parts import (
    CellQuestion,
    Contrast,
    Figure,
    Lesson,
    NumberQuestion,
    Onward,
    Shown,
    Step,
    TokenQuestion,
    Viewing,
)
from viz.lessons.subject import Subject, quoted

HABITS = ("itself", "the token before", "the token after", "the first token", "the last token")
"""What a head may do whatever the sentence says."""


class Head(NamedTuple):
    """A head with a habit.

    Attributes:
        layer, head: which.
        habit: the index of what it does most in `HABITS`.
        share: the weight it gives to that, on average over the rows in which there is such a token.
    """

    layer: int
    head: int
    habit: int
    share: float


def attention_of(subject: Subject) -> Attention:
    """The self-attention that the lesson is about."""
    return attentions(subject.run.trace)[0]


def maps_of(subject: Subject) -> AttentionMaps:
    """Its weights, of all layers and heads."""
    return subject.kept("heads", lambda: attention_maps(subject.run.trace, attention_of(subject), "weights"))


def habits_of(maps: AttentionMaps) -> NDArray[np.float64]:
    """(habits, L, H): the mean weight of each habit, over the rows that have more than one open key."""
    n = len(maps.query_tokens)
    query = np.arange(n)
    rows = maps.allowed.sum(axis=1) > 1
    shares = []
    for key in (query, query - 1, query + 1, np.zeros_like(query), np.full_like(query, n - 1)):
        is_there = rows & (key >= 0) & (key < n)
        is_there[is_there] &= maps.allowed[query[is_there], key[is_there]]
        weights = maps.values[:, :, query[is_there], key[is_there]].astype(np.float64)  # (L, H, rows)
        shares.append(weights.mean(axis=-1) if is_there.any() else np.zeros(maps.values.shape[:2]))
    return np.stack(shares)


def clearest(subject: Subject) -> Head:
    """The head with the clearest habit of looking somewhere by position, and else the clearest of all."""
    habits = habits_of(maps_of(subject))
    among = habits[1:3] if habits[1:3].max() > 0.3 else habits
    habit, layer, head = np.unravel_index(int(among.argmax()), among.shape)
    return Head(int(layer), int(head), int(habit) + (among is not habits), float(among.max()))


def spreads(subject: Subject) -> tuple[float, float]:
    """Over how many tokens a row is spread (2 to its entropy): a head's on average, and their mean's."""
    maps = maps_of(subject)
    rows = maps.allowed.sum(axis=1) > 1
    rows = rows if rows.any() else np.ones_like(rows)
    weights = maps.values[clearest(subject).layer][:, rows].astype(np.float64)
    return float((2 ** _entropy(weights)).mean()), float((2 ** _entropy(weights.mean(axis=0))).mean())


def _entropy(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return -(weights * np.log2(weights, where=weights > 0, out=np.zeros_like(weights))).sum(axis=-1)


def _query(subject: Subject) -> int:
    """A row of the clearest head to ask about: a word in the middle."""
    found = clearest(subject)
    maps = maps_of(subject)
    words = subject.is_word(MODULES[attention_of(subject)][0]) & (maps.allowed.sum(axis=1) > 1)
    rows = np.flatnonzero(words)
    if not len(rows):
        return len(words) - 1
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
        f"Head {found.head} of layer {found.layer} has a habit: on average it gives {found.share:.0%} of "
        f"its attention to {HABITS[found.habit]}. Which token does {quoted(token)}, at position "
        f"{_query(subject)}, look at most in it? Click it."
    )


def _row(subject: Subject) -> list[float | None]:
    found, maps, query = clearest(subject), maps_of(subject), _query(subject)
    weights = maps.values[found.layer, found.head, query]
    return [float(w) if is_open else None for w, is_open in zip(weights, maps.allowed[query], strict=True)]


def _reason_where(subject: Subject) -> str:
    found, maps, query = clearest(subject), maps_of(subject), _query(subject)
    weights = maps.values[found.layer, found.head, query]
    key = int(weights.argmax())
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
    """Another habit than that of the clearest head: the one that some head has most."""
    most = habits_of(maps_of(subject)).max(axis=(1, 2))
    most[clearest(subject).habit] = -1
    return int(most.argmax())


def _grid(subject: Subject) -> NDArray[np.float64]:
    habits: NDArray[np.float64] = habits_of(maps_of(subject))[_other(subject)]
    return habits


def _reason_which(subject: Subject) -> str:
    grid = _grid(subject)
    layer, head = np.unravel_index(int(grid.argmax()), grid.shape)
    return (
        f"Head {head} of layer {layer} does so most, with {grid.max():.0%}; the mean of all heads is "
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
                unit="numbers, d_head",
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
        ),
        Step(
            "Each with a habit",
            lambda subject: f"**{ATTENTION_LABELS[attention_of(subject)]}** of your sentence.",
            TokenQuestion(
                name="habit",
                asks=_asks_where,
                tokens=lambda subject: maps_of(subject).key_tokens,
                values=_row,
                unit="attention weight",
                reason=_reason_where,
                pointless=_one_token,
            ),
            Shown(
                "",
                (
                    Viewing(
                        lambda subject: {
                            "attention": attention_of(subject),
                            "layer": clearest(subject).layer,
                            "head": clearest(subject).head,
                        }
                    ),
                ),
            ),
        ),
        Step(
            "Who does what",
            "",
            CellQuestion(
                name="which",
                asks=lambda subject: (
                    "Each cell here is a head; layer 0 is the first that a sentence goes through. Which "
                    f"head looks most at {HABITS[_other(subject)]}?"
                ),
                rows=lambda subject: [f"layer {layer}" for layer in range(maps_of(subject).n_layers)],
                columns=lambda subject: [f"head {head}" for head in range(maps_of(subject).n_heads)],
                axes=("layer", "head"),
                values=_grid,
                unit="mean weight",
                reason=_reason_which,
                pointless=_one_token,
            ),
        ),
        Step(
            "Why not show their average?",
            "",
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
                    "All heads": Shown(
                        "",
                        (
                            Figure(
                                lambda subject, theme: attention_grid(
                                    maps_of(subject).values,
                                    maps_of(subject).query_tokens,
                                    maps_of(subject).key_tokens,
                                    theme=theme,
                                ),
                                "Every head, each with its own picture.",
                                "lesson-heads",
                            ),
                        ),
                    ),
                    "The average of a layer": Shown(
                        "",
                        (
                            Figure(
                                lambda subject, theme: attention_heatmap(
                                    maps_of(subject).values[clearest(subject).layer].mean(axis=0),
                                    maps_of(subject).query_tokens,
                                    maps_of(subject).key_tokens,
                                    theme=theme,
                                    closed={"closed": ~maps_of(subject).allowed},
                                ),
                                "The mean of the weights of that layer's heads.",
                                "lesson-heads-averaged",
                            ),
                        ),
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
