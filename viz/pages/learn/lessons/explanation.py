"""Lesson 12: whether attention is an explanation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES, attention_maps, closed_cells
from viz.figures.attention import attention_heatmap
from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.ablation import (
    costliest,
    head_losses,
    key_losses,
    layers_of,
    mean_weights,
    open_keys,
    place_of,
    sharpest,
    sharpest_loss,
)
from viz.pages.learn.lessons.computed.written import possible_steps
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme


def _offered(subject: Subject) -> Mapping[int, str]:
    """The tokens to explain: those that a decoder wrote."""
    is_written = MODULES[place_of(subject).attention][0] == "decoder" and subject.run.steps
    return possible_steps(subject) if is_written else {}


def _after_sharpest(subject: Subject) -> float:
    """The probability without the most focused head; without a generator, how far the vector moves."""
    place, loss = place_of(subject), sharpest_loss(subject)
    if place.step is None:
        return loss
    return float(subject.run.steps[place.step].probability * np.exp(-loss))


def _tokens(subject: Subject) -> tuple[str, ...]:
    place = place_of(subject)
    return attention_maps(subject.run.trace, place.attention, "weights", layer=0).key_tokens


def _unit(subject: Subject) -> str:
    return "nats of log-probability" if place_of(subject).step is not None else "of the vector's length"


def _what(subject: Subject) -> str:
    place = place_of(subject)
    token = quoted(place.token)
    return (
        f"the probability of {token}, which is {subject.run.steps[place.step].probability:.1%}"
        if place.step is not None
        else f"the last vector of {token}"
    )


def _few_keys(subject: Subject) -> str:
    return (
        ""
        if open_keys(subject).sum() > 1
        else "Here one key alone may be looked at: there is nothing to compare."
    )


def _reason_head(subject: Subject) -> str:
    losses = head_losses(subject)
    layer, head = costliest(subject)
    sharp_layer, sharp_head = sharpest(subject)
    same = (layer, head) == (sharp_layer, sharp_head)
    return (
        f"Head {head} of layer {layer}: without it the cost is {number(float(losses.max()), 2)} "
        f"{_unit(subject)}; the median head costs {number(float(np.median(losses)), 2)}. The head with the "
        "sharpest picture for this word is "
        + (
            "the same one here."
            if same
            else f"head {sharp_head} of layer {sharp_layer}, and it costs "
            f"{number(sharpest_loss(subject), 2)}."
        )
        + " So: to know which layer and head to look at, switch them off first, and then look at those "
        "that matter."
    )


def _picture(subject: Subject, layer: int, head: int) -> Shown:
    """A head with the cost of switching it off."""
    maps = attention_maps(subject.run.trace, place_of(subject).attention, "weights", layer=layer)
    cost = float(head_losses(subject)[layers_of(subject).index(layer), head])

    def draw(_: Subject, theme: Theme) -> go.Figure:
        return attention_heatmap(
            maps.values[0, head],
            maps.query_tokens,
            maps.key_tokens,
            theme=theme,
            closed=closed_cells(maps),
        )

    return Shown(
        f"Head {head} of layer {layer} costs **{number(cost, 2)}** {_unit(subject)}. This is about its row "
        f"of {quoted(maps.query_tokens[place_of(subject).row])}, at position {place_of(subject).row}.",
        (Figure(draw, f"Head {head} of layer {layer}, with all its rows.", "lesson-ablated"),),
    )


def _reason_key(subject: Subject) -> str:
    losses = np.array([np.nan if loss is None else loss for loss in key_losses(subject)])
    weights = mean_weights(subject)
    tokens = _tokens(subject)
    best, most = int(np.nanargmax(losses)), int(weights.argmax())
    is_open = ~np.isnan(losses)
    agreement = _correlation(weights[is_open], losses[is_open])
    told = (
        f"It is also the one with the largest mean weight, {weights[most]:.0%}."
        if best == most
        else f"The largest mean weight, {weights[most]:.0%}, goes to {quoted(tokens[most])}, and closing "
        f"that costs {number(float(losses[most]), 2)}."
    )
    return (
        f"{quoted(tokens[best])}: without it the cost is {number(float(losses[best]), 2)} {_unit(subject)}. "
        f"{told}"
        + (
            f" Over all keys weights and costs correlate with {number(agreement, 2)}."
            if np.isfinite(agreement)
            else ""
        )
        + " A weight says how much of a value is taken, not how long that value is, nor what is made of it "
        "later; and other layers may bring the same by another way."
    )


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _bars(subject: Subject, *, of_weights: bool) -> Figure:
    losses = [0.0 if loss is None else loss for loss in key_losses(subject)]
    values = mean_weights(subject) if of_weights else np.array(losses)
    title = "mean weight" if of_weights else f"cost ({_unit(subject)})"
    return Figure(
        lambda _, theme: token_bars(values, _tokens(subject), theme=theme, quantity=title),
        "How much each token is looked at: the mean of all layers and heads."
        if of_weights
        else "What it costs when the token can't be looked at.",
        f"lesson-explanation-{'weights' if of_weights else 'cost'}",
    )


LESSON = Lesson(
    number=12,
    title="Is attention an explanation?",
    offers=_offered,
    asks=("Does attention tell why a model says something?", "Which layer and head should I look at?"),
    steps=(
        Step(
            "A sharp picture",
            lambda subject: (
                f"This is about {_what(subject)}, and the "
                f"{ATTENTION_LABELS[place_of(subject).attention].lower()} by which it is made. A head that "
                "puts nearly all its weight on one token makes a picture that everybody believes. Here is a "
                "test: the head is switched off by setting what it puts out to zero, which is called an "
                "**ablation**. What changes then is what the head was for."
            ),
            NumberQuestion(
                name="sharp",
                asks=lambda subject: (
                    f"Head {sharpest(subject)[1]} of layer {sharpest(subject)[0]} has the sharpest picture "
                    "here. "
                    + (
                        "When it is switched off, to how many percent does "
                        f"{_what(subject).replace(', which is', ' go, from')}?"
                        if place_of(subject).step is not None
                        else "When it is switched off, by how many percent of its length does the last "
                        "vector move?"
                    )
                ),
                answer=lambda subject: 100 * _after_sharpest(subject),
                unit="percent",
                most=lambda subject: 100.0 if place_of(subject).step is not None else 1_000.0,
                step=1,
                within=10,
                reason=lambda subject: (
                    f"{_after_sharpest(subject):.1%}. A picture shows where a head looks. Only switching it "
                    "off shows whether that matters."
                ),
            ),
            lambda subject: _picture(subject, *sharpest(subject)),
        ),
        Step(
            "Which head matters?",
            lambda subject: (
                "Now each head is switched off in its turn. Its cost is "
                + (
                    "how far the natural logarithm of that probability falls, in nats: 0.7 nats are half "
                    "the probability, and below 0 it is more probable without the head."
                    if place_of(subject).step is not None
                    else "how far the last vector moves, as a share of its length."
                )
            ),
            CellQuestion(
                name="head",
                asks="Each cell is a head. Which one costs most when it is switched off?",
                rows=lambda subject: [f"layer {layer}" for layer in layers_of(subject)],
                columns=lambda subject: [f"head {head}" for head in range(subject.config.n_heads)],
                axes=("layer", "head"),
                values=head_losses,
                unit="cost",
                reason=_reason_head,
            ),
            contrast=Contrast(
                "Look at",
                {
                    "the head that matters most": lambda subject: _picture(subject, *costliest(subject)),
                    "the head with the sharpest picture": lambda subject: _picture(
                        subject, *sharpest(subject)
                    ),
                },
            ),
        ),
        Step(
            "Which token matters?",
            "Now a single token is closed to this row, in all layers of this attention, as a mask would.",
            TokenQuestion(
                name="key",
                asks="Which token costs most when it can't be looked at?",
                tokens=_tokens,
                values=key_losses,
                unit="cost",
                reason=_reason_key,
                pointless=_few_keys,
            ),
            contrast=Contrast(
                "Show for each token",
                {
                    "how much it is looked at": lambda subject: _bars(subject, of_weights=True),
                    "what it costs to close it": lambda subject: _bars(subject, of_weights=False),
                },
            ),
        ),
    ),
    takeaway=(
        "Attention shows where a head looks; what that was good for is shown by what changes without it."
    ),
    onward=(
        Onward(
            "This attention on Explore, by what each head moves",
            "explore",
            lambda subject: {"attention": place_of(subject).attention, "measure": "moved"},
        ),
        Onward("Dead heads and sinks, found by the doctor, on Checkpoint", "checkpoint"),
    ),
)
