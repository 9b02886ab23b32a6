"""The cost, in a token's probability, of switching off a head or masking a token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.attention_maps import MODULES, Attention, attention_maps, attentions
from transformer.analysis.interventions.heads import HeadPlace, Switch
from transformer.analysis.interventions.outcomes import (
    MOST_LOGITS,
    MOST_ROWS,
    Variant,
    falls,
    forward,
)
from transformer.analysis.interventions.questions import Question, logit_row
from viz.pages.learn.lessons.computed.written import written_of
from viz.pages.learn.lessons.format.subject import Subject

MOST_HEADS = 64
"""Most heads of an attention that are switched off one by one, from the last layers."""


class Place(NamedTuple):
    """A prediction to explain, and the row of attention through which it reads the input.

    Attributes:
        attention: the attention examined.
        row: the query's position.
        step: the token's index in `run.steps`; None in a model without a generator.
        token: the predicted token; without a generator, the token at the row.
    """

    attention: Attention
    row: int
    step: int | None
    token: str


def place_of(subject: Subject) -> Place:
    """Choose a word of the output and the attention through which it reads the input."""
    run, trace = subject.run, subject.run.trace
    attention: Attention = "cross" if "cross" in attentions(trace) else attentions(trace)[-1]
    stack, _ = MODULES[attention]
    if stack == "decoder" and run.steps:
        written = written_of(subject)
        return Place(attention, written.row, written.step, written.token)
    whole = np.flatnonzero(subject.is_whole_word(stack))
    words = whole if len(whole) else np.flatnonzero(subject.is_word(stack))
    row = int(words[len(words) // 2]) if len(words) else 0
    at = [step for step, one in enumerate(run.steps) if one.position == row]
    step = at[0] if at else (0 if run.steps else None)
    if step is not None:
        row = run.steps[step].position
        return Place(attention, row, step, subject.loaded.source.token(run.steps[step].token_id))
    return Place(attention, row, None, trace.tokens(stack)[0][row])


def losses_by(subject: Subject, variants: Sequence[Variant]) -> NDArray[np.float64]:
    """(variants,): how much the token's log-probability falls in each, in nats.

    In a model without a generator: how far the row's last vector moves, relative to its length.
    """
    place, run = place_of(subject), subject.run
    if place.step is not None:
        token_id = run.steps[place.step].token_id
        question = Question(place.token, (logit_row(run, place.step),), (token_id,))
        fallen: NDArray[np.float64] = falls(subject.loaded, run, variants, [question])[:, 0].numpy()
        return fallen
    own, *others = torch.cat([batch[:, place.row] for batch in outputs(subject, [{}, *variants])])
    return np.array([float((other - own).norm() / own.norm()) for other in others], dtype=np.float64)


def outputs(subject: Subject, variants: Sequence[Variant]) -> Iterator[Tensor]:
    """The last output of each variant, some variants at a time: (n, T, V or D)."""
    size = subject.run.trace[list(subject.run.trace)[-1]].numel()
    at_once = max(1, min(MOST_ROWS, MOST_LOGITS // size))
    for start in range(0, len(variants), at_once):
        yield forward(subject.loaded, subject.run, variants[start : start + at_once]).cpu()


def of_its_length(change: float) -> str:
    """A vector's change as a share of its length, in Markdown, with what more than 100 % means."""
    more = " (more than 100 %: what changed is longer than the vector was, so it turned away)"
    return f"**{change:.0%}** of its length{more if change > 1 else ''}"


def examined_layers(subject: Subject, attention: Attention) -> list[int]:
    """The layers of an attention whose heads are switched off one by one."""
    n = subject.run.trace.n_layers(MODULES[attention][0])
    return list(range(n))[-max(1, MOST_HEADS // subject.config.n_heads) :]


def layers_of(subject: Subject) -> list[int]:
    """The examined layers of the attention of `place_of`."""
    return examined_layers(subject, place_of(subject).attention)


def head_losses(subject: Subject) -> NDArray[np.float64]:
    """(layers, H): the cost of switching off each head."""

    def losses() -> NDArray[np.float64]:
        attention, switch = place_of(subject).attention, Switch(subject.loaded, "zero")
        n_heads = subject.config.n_heads
        places = [
            HeadPlace(attention, layer, head) for layer in layers_of(subject) for head in range(n_heads)
        ]
        variants = [variant for place in places for variant in switch.off([place])]
        return losses_by(subject, variants).reshape(-1, n_heads)

    return subject.kept("head losses", losses)


def costliest(subject: Subject) -> tuple[int, int]:
    """The layer and head that cost most to switch off."""
    losses = head_losses(subject)
    at, head = np.unravel_index(int(losses.argmax()), losses.shape)
    return layers_of(subject)[int(at)], int(head)


def without_key(subject: Subject, key: int) -> Variant:
    """Mask a key for this row only, in all layers of the attention."""
    place = place_of(subject)
    stack, name = MODULES[place.attention]

    def close(scores: Tensor) -> Tensor:
        # Not the mask, which all rows may share.
        scores[..., place.row, key] = -math.inf
        return scores

    layers = range(subject.run.trace.n_layers(stack))
    return {f"{stack}.layers.{layer}.{name}.scores": close for layer in layers}


def open_keys(subject: Subject) -> NDArray[np.bool_]:
    """(K,): the keys that the row may attend to in some layer."""
    place = place_of(subject)
    maps = attention_maps(subject.run.trace, place.attention, "weights")
    is_open: NDArray[np.bool_] = maps.allowed[place.row]
    return is_open


def key_losses(subject: Subject) -> list[float | None]:
    """The cost of masking each key; None for one that is masked anyway."""

    def losses() -> list[float | None]:
        is_open = open_keys(subject)
        found = iter(losses_by(subject, [without_key(subject, int(key)) for key in np.flatnonzero(is_open)]))
        return [float(next(found)) if one else None for one in is_open]

    return subject.kept("key losses", losses)


def mean_weights(subject: Subject) -> NDArray[np.float64]:
    """(K,): the row's weights, averaged over all layers and heads."""
    place = place_of(subject)
    weights = attention_maps(subject.run.trace, place.attention, "weights").values[:, :, place.row]
    mean: NDArray[np.float64] = weights.mean(axis=(0, 1), dtype=np.float64)
    return mean


def sharpest(subject: Subject) -> tuple[int, int]:
    """The layer and head with the row's largest weight, among the heads that are switched off."""
    place, layers = place_of(subject), layers_of(subject)
    rows = attention_maps(subject.run.trace, place.attention, "weights").values[layers, :, place.row]
    layer, head = np.unravel_index(int(rows.max(axis=-1).argmax()), rows.shape[:2])
    return layers[int(layer)], int(head)


def sharpest_loss(subject: Subject) -> float:
    """The cost of switching off the head of `sharpest`."""
    layer, head = sharpest(subject)
    return float(head_losses(subject)[layers_of(subject).index(layer), head])
