"""Lesson 12: whether attention is an explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MODULES,
    Attention,
    attention_maps,
    attentions,
)
from transformer.analysis.edited import edited_records, effect_of
from transformer.model.trace import Edit
from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.lessons.decoder import written_of
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
)
from viz.lessons.subject import Subject, quoted

MOST_HEADS = 64
"""More are not switched off one by one: each takes a run of the whole model. The last layers are."""


class Place(NamedTuple):
    """What is to be explained.

    Attributes:
        attention: the one that is looked into.
        row: of its queries.
        step: of the run: whose token; None in a model without a generator.
        token: the token that is written there, or that stands there.
    """

    attention: Attention
    row: int
    step: int | None
    token: str


def place_of(subject: Subject) -> Place:
    """A word of the output, and the attention by which it is read from the input."""
    run, trace = subject.run, subject.run.trace
    attention: Attention = "cross" if "cross" in attentions(trace) else attentions(trace)[-1]
    stack, _ = MODULES[attention]
    if stack == "decoder" and run.steps:
        written = written_of(subject)
        return Place(attention, written.row, written.step, written.token)
    words = np.flatnonzero(subject.is_word(stack))
    row = int(words[len(words) // 2]) if len(words) else 0
    at = [step for step, one in enumerate(run.steps) if one.position == row]
    step = at[0] if at else (0 if run.steps else None)
    if step is not None:
        row = run.steps[step].position
        return Place(attention, row, step, subject.loaded.source.token(run.steps[step].token_id))
    return Place(attention, row, None, trace.tokens(stack)[0][row])


def loss_by(subject: Subject, edits: Mapping[str, Edit]) -> float:
    """What edits cost: the fall of the token's log-probability, in nats.

    In a model without a generator: how far the row's last vector moves, over its length.
    """
    place = place_of(subject)
    if place.step is not None:
        edited = effect_of(subject.loaded, subject.run, edits)
        own = subject.run.steps[place.step].probability
        return float(np.log(own) - np.log(max(float(edited.probabilities[place.step]), 1e-30)))
    last = list(subject.run.trace)[-1]
    before = subject.run.trace[last][0, place.row]
    after = edited_records(subject.loaded, subject.run, edits)[last][0, place.row]
    return float((after - before).norm() / before.norm())


def layers_of(subject: Subject) -> list[int]:
    """The layers whose heads are switched off one by one."""
    n = subject.run.trace.n_layers(MODULES[place_of(subject).attention][0])
    return list(range(n))[-max(1, MOST_HEADS // subject.config.n_heads) :]


def head_losses(subject: Subject) -> NDArray[np.float64]:
    """(layers, H): what it costs to switch each head off."""

    def losses() -> NDArray[np.float64]:
        heads = range(subject.config.n_heads)
        return np.array(
            [
                [loss_by(subject, without_head(subject, layer, head)) for head in heads]
                for layer in layers_of(subject)
            ]
        )

    return subject.kept("head losses", losses)


def without_head(subject: Subject, layer: int, head: int) -> dict[str, Edit]:
    """Switch a head of the attention off: it puts out zeros."""
    stack, name = MODULES[place_of(subject).attention]

    def off(z: Tensor) -> Tensor:
        z[:, head] = 0
        return z

    return {f"{stack}.layers.{layer}.{name}.z": off}


def without_key(subject: Subject, key: int) -> dict[str, Edit]:
    """Close a key to the row, in all layers of the attention."""
    place = place_of(subject)
    stack, name = MODULES[place.attention]

    def close(mask: Tensor) -> Tensor:
        mask[..., 0 if mask.shape[-2] == 1 else place.row, key] = False
        return mask

    layers = range(subject.run.trace.n_layers(stack))
    return {f"{stack}.layers.{layer}.{name}.mask": close for layer in layers}


def open_keys(subject: Subject) -> NDArray[np.bool_]:
    """(K,): which keys the row may look at."""
    place = place_of(subject)
    is_open: NDArray[np.bool_] = attention_maps(
        subject.run.trace, place.attention, "weights", layer=0
    ).allowed[place.row]
    return is_open


def key_losses(subject: Subject) -> list[float | None]:
    """What it costs to close each key; None for one that is closed anyway."""

    def losses() -> list[float | None]:
        is_open = open_keys(subject)
        return [
            loss_by(subject, without_key(subject, key)) if is_open[key] else None
            for key in range(len(is_open))
        ]

    return subject.kept("key losses", losses)


def mean_weights(subject: Subject) -> NDArray[np.float64]:
    """(K,): the row's weights, the mean over all layers and heads."""
    place = place_of(subject)
    weights = attention_maps(subject.run.trace, place.attention, "weights").values[:, :, place.row]
    mean: NDArray[np.float64] = weights.mean(axis=(0, 1), dtype=np.float64)
    return mean


def sharpest(subject: Subject) -> tuple[int, int]:
    """The layer and the head with the row's largest weight, among those that are switched off."""
    place, layers = place_of(subject), layers_of(subject)
    rows = attention_maps(subject.run.trace, place.attention, "weights").values[layers, :, place.row]
    layer, head = np.unravel_index(int(rows.max(axis=-1).argmax()), rows.shape[:2])
    return layers[int(layer)], int(head)


def sharpest_loss(subject: Subject) -> float:
    """What it costs to switch that head off."""
    layer, head = sharpest(subject)
    return float(head_losses(subject)[layers_of(subject).index(layer), head])


def _after_sharpest(subject: Subject) -> float:
    """The probability left without the sharpest head; without a generator, how far the vector moves."""
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
    at, head = np.unravel_index(int(losses.argmax()), losses.shape)
    layer = layers_of(subject)[int(at)]
    sharp_layer, sharp_head = sharpest(subject)
    same = (layer, int(head)) == (sharp_layer, sharp_head)
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


def _bars(subject: Subject, *, of_weights: bool) -> Shown:
    losses = [0.0 if loss is None else loss for loss in key_losses(subject)]
    values = mean_weights(subject) if of_weights else np.array(losses)
    title = "mean weight" if of_weights else f"cost ({_unit(subject)})"
    return Shown(
        "",
        (
            Figure(
                lambda _, theme: token_bars(values, _tokens(subject), theme=theme, quantity=title),
                "How much each token is looked at: the mean of all layers and heads."
                if of_weights
                else "What it costs when the token can't be looked at.",
                f"lesson-explanation-{'weights' if of_weights else 'cost'}",
            ),
        ),
    )


LESSON = Lesson(
    number=12,
    title="Is attention an explanation?",
    asks=("Does attention tell why a model says something?", "Which layer and head should I look at?"),
    steps=(
        Step(
            "Which head matters?",
            lambda subject: (
                f"This is about {_what(subject)}, and the "
                f"{ATTENTION_LABELS[place_of(subject).attention].lower()} by which it is made. A head is "
                "switched off by setting what it puts out to zero: an **ablation**. What changes then is "
                "what the head was for."
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
        ),
        Step(
            "A sharp picture",
            "A head that puts nearly all weight on one word makes a picture that everybody believes.",
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
                least=0,
                most=lambda subject: 100.0 if place_of(subject).step is not None else 1_000.0,
                step=1,
                within=10,
                reason=lambda subject: (
                    f"{_after_sharpest(subject):.1%}. A picture shows where a head looks. Only switching it "
                    "off shows whether that matters."
                ),
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
