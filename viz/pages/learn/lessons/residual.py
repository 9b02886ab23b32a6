"""Lesson 7: the residual stream, the norms and the feed-forward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.analysis.attention_maps import stacks
from transformer.analysis.edited import Effect, effect_of
from transformer.analysis.parts import Part, parts_of, total
from transformer.analysis.residual import added_to_stream, addition_path
from transformer.model.trace import NormRecord, Stack
from viz.figures.norms import value_distribution
from viz.figures.numbers import in_sum, number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.ablation import of_its_length
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.run_figures.norms import residual_figure
from viz.theme import Theme

NORMS = {
    "pre": "in this model it stands before",
    "post": "in this model it stands after",
    "both": "this model has one before each sublayer, and one more of what the sublayer adds",
    "output": "this model has one of what each sublayer adds, and reads the stream as it is",
}
SUBLAYERS = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "feed_forward": "feed-forward",
}


def stack_of(subject: Subject) -> Stack:
    """The stack that the lesson is about: the last."""
    return stacks(subject.run.trace)[-1]


def sublayers_of(subject: Subject) -> list[str]:
    """The names of the sublayers in each layer of the stack."""
    stack = stack_of(subject)
    return [name for name in SUBLAYERS if f"{stack}.layers.0.{name}.out" in subject.run.trace]


def added(subject: Subject) -> NDArray[np.float32]:
    """(L, sublayers): the mean length of each sublayer's addition to the stream."""
    trace, stack = subject.run.trace, stack_of(subject)
    lengths: NDArray[np.float32] = np.stack(
        [
            [
                added_to_stream(trace, subject.config, f"{stack}.layers.{layer}.{name}")[0]
                .norm(dim=-1)
                .mean()
                .numpy()
                for name in sublayers_of(subject)
            ]
            for layer in range(trace.n_layers(stack))
        ]
    )
    return lengths


def place_of(subject: Subject) -> int:
    """The position of a token to follow: the last word that the stack reads."""
    words = np.flatnonzero(subject.is_word(stack_of(subject)))
    return int(words[-1]) if len(words) else 0


def _token(subject: Subject) -> str:
    return subject.run.trace.tokens(stack_of(subject))[0][place_of(subject)]


def norm_of(subject: Subject) -> NormRecord:
    """The first norm of the stack that is not one of queries or keys."""
    stack = stack_of(subject)
    return next(
        record
        for record in subject.run.trace.norms()
        if record.path.startswith(f"{stack}.layers.") and not record.path.endswith(("q_norm", "k_norm"))
    )


def normalized(subject: Subject) -> float:
    """The first number of the token's vector after the norm, before gamma and beta."""
    return float(norm_of(subject).normalized[0, place_of(subject), 0])


def active(subject: Subject) -> float:
    """The share of the hidden units of layer 0's feed-forward that are active for the token.

    In a mixture of experts, those of the expert with the largest weight.
    """
    path = f"{stack_of(subject)}.layers.0.feed_forward"
    trace = subject.run.trace
    if subject.config.n_experts:
        path += f".experts.{int(trace[f'{path}.routing'][0, place_of(subject)].argmax())}"
    hidden = trace[f"{path}.gate"] if subject.config.gated else trace[f"{path}.hidden"]
    return float((hidden[0, place_of(subject)] > 0).float().mean())


def without(subject: Subject, name: str) -> Effect:
    """The effect on the output of removing one sublayer of layer 0."""
    path = addition_path(subject.config, f"{stack_of(subject)}.layers.0.{name}")

    def nothing(out: Tensor) -> Tensor:
        return torch.zeros_like(out)

    return subject.kept(f"without {path}", lambda: effect_of(subject.loaded, subject.run, {path: nothing}))


def _reason_added(subject: Subject) -> str:
    lengths = added(subject)
    layer, column = np.unravel_index(int(lengths.argmax()), lengths.shape)
    return (
        f"The {SUBLAYERS[sublayers_of(subject)[column]]} of layer {layer}: on average it adds a vector of "
        f"length {lengths.max():.1f}; the shortest addition is {lengths.min():.1f} long. Nothing is ever "
        "replaced: whatever a layer wrote stays in the sum, and any later layer can read it."
    )


def _asks_norm(subject: Subject) -> str:
    record, place = norm_of(subject), place_of(subject)
    x = float(record.input[0, place, 0])
    scale = float(record.scale[0, place, 0])
    given = f"the root mean square of its {record.input.shape[-1]} numbers is {scale:.3f}"
    if record.mean is not None:
        given = (
            f"the mean of its {record.input.shape[-1]} numbers is {number(float(record.mean[0, place, 0]))} "
            f"and their standard deviation {scale:.3f}"
        )
    return (
        f"At the first norm of the {stack_of(subject)} the first number of {quoted(_token(subject))} is "
        f"{number(x)}; {given}. What is the first number after normalising, before "
        f"γ{'' if record.mean is None else ' and β'}?"
    )


def _reason_norm(subject: Subject) -> str:
    record, place = norm_of(subject), place_of(subject)
    x, scale = float(record.input[0, place, 0]), float(record.scale[0, place, 0])
    values = record.normalized[0, place]
    top = number(x) if record.mean is None else f"{number(x)} − {in_sum(float(record.mean[0, place, 0]))}"
    what = (
        f"a root mean square of {values.square().mean().sqrt():.2f}"
        if record.mean is None
        else f"mean {number(float(values.mean()), 2)} and standard deviation {values.std(correction=0):.2f}"
    )
    return (
        f"({top}) / {scale:.3f} = {number(normalized(subject))}. All numbers together now have {what}, "
        "whatever they were before. Each token is taken by itself: no other token, and no other sentence of "
        "a batch, has a part in it."
    )


def _of_experts(subject: Subject) -> str:
    n = subject.config.n_experts
    return f", in the one of its {n} experts with the largest weight," if n else ""


def _reason_active(subject: Subject) -> str:
    parts = parts_of(subject.config)
    n_feed_forward = _parameters(parts, "feed_forward")
    return (
        f"{active(subject):.0%} of {subject.config.d_ff:,} are above 0; another token has others. Each unit "
        "looks for something in the stream, and if it is there, writes something into it. Feed-forwards "
        f"hold {n_feed_forward / total(parts):.0%} of this model's {total(parts):,} parameters."
    )


def _parameters(parts: Sequence[Part], name: str) -> int:
    return sum(part.n_parameters if part.name == name else _parameters(part.parts, name) for part in parts)


def _left_out(subject: Subject, name: str) -> Shown:
    effect, own = without(subject, name), effect_of(subject.loaded, subject.run, {})
    words = f"The output changes by {of_its_length(effect.change)}."
    if len(own.probabilities):
        words += (
            f" The tokens of this run had a probability of {own.mean:.1%} (geometric mean); now it is "
            f"**{effect.mean:.1%}**."
        )
    return Shown(words)


def _lengths(subject: Subject, theme: Theme) -> go.Figure:
    return residual_figure(subject.run.trace, stack_of(subject), each_token=True, theme=theme)


def _unfit(subject: Subject) -> str:
    if subject.config.norm_position == "none":
        return "This lesson is about norms too, and this model has none in its layers. Choose another model."
    return ""


LESSON = Lesson(
    number=7,
    title="The residual stream",
    asks=("What goes on between the attentions?", "What do layer norm and feed-forward do?"),
    unfit=_unfit,
    steps=(
        Step(
            "Everything is a sum",
            "A layer consists of **sublayers**: attention, and a feed-forward, which this lesson comes to. "
            "None of them replaces a token's vector on its way up. Each reads it and *adds* something to "
            "it: that is the **residual stream**. So the way from the embedding to the output is open all "
            "along, upwards for the numbers, and downwards for what the model learns from.",
            CellQuestion(
                name="added",
                asks=lambda subject: (
                    f"Each cell is a sublayer of the {stack_of(subject)}. Which of them adds the longest "
                    "vectors, on average over your tokens?"
                ),
                rows=lambda subject: [f"layer {layer}" for layer in range(len(added(subject)))],
                columns=lambda subject: [SUBLAYERS[name] for name in sublayers_of(subject)],
                axes=("layer", "sublayer"),
                values=added,
                unit="mean length",
                reason=_reason_added,
            ),
            Figure(
                _lengths,
                "How long each token's vector is, from the input of the stack to its last layer.",
                "lesson-stream",
            ),
        ),
        Step(
            "A norm brings it to one size",
            lambda subject: (
                "Sums may grow. Before a sublayer reads the stream, or after it has added to it, a **norm** "
                f"brings each token's numbers to one size; {NORMS[subject.config.norm_position]}. Then it "
                "multiplies each "
                "number by one that was learned, γ"
                + ("." if norm_of(subject).mean is None else ", and adds another, β.")
            ),
            NumberQuestion(
                name="norm",
                asks=_asks_norm,
                answer=normalized,
                unit="normalised number",
                is_quantity=True,
                least=-1_000,
                most=lambda _: 1_000,
                step=0.01,
                within=0.02,
                share=0.05,
                reason=_reason_norm,
            ),
            lambda subject: Figure(
                lambda _, theme: value_distribution(
                    {
                        "before": norm_of(subject).input[0].numpy(),
                        "normalised": norm_of(subject).normalized[0].numpy(),
                    },
                    theme=theme,
                ),
                "How the numbers of all tokens spread, before and after.",
                "lesson-norm",
            ),
        ),
        Step(
            "The feed-forward: each token by itself",
            lambda subject: (
                "Attention moves things between tokens; the **feed-forward** works on one token at a time. "
                f"It widens the vector to {subject.config.d_ff:,} hidden units, lets an activation pass or "
                "stop each, and adds up what the passing ones have to say."
            ),
            NumberQuestion(
                name="active",
                asks=lambda subject: (
                    f"How many percent of the {subject.config.d_ff:,} units in layer 0 of the "
                    f"{stack_of(subject)}{_of_experts(subject)} are active, above 0, for "
                    f"{quoted(_token(subject))}?"
                ),
                answer=lambda subject: 100 * active(subject),
                unit="percent",
                most=lambda _: 100,
                step=1,
                within=10,
                reason=_reason_active,
            ),
            contrast=Contrast(
                "Leave out of layer 0",
                {
                    "the feed-forward": lambda subject: _left_out(subject, "feed_forward"),
                    "the self-attention": lambda subject: _left_out(subject, "self_attn"),
                },
            ),
        ),
    ),
    takeaway=(
        "Sublayers read the stream and add to it: attention between tokens, feed-forward within each, norms "
        "for size."
    ),
    onward=(
        Onward("Every norm of the run, number by number, on Layer norm", "layer-norm"),
        Onward(
            "What each head moves into the stream, on Explore",
            "explore",
            lambda subject: {"measure": "moved"},
        ),
    ),
)
