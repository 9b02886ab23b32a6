"""Lesson 11: pre-norm and post-norm."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import stacks
from transformer.analysis.gradients import stream_gradients
from transformer.analysis.residual import stream_lengths
from transformer.model.config import NormPosition
from transformer.model.trace import Stack
from transformer.run import run_again
from viz.figures.norms import growth
from viz.lessons.parts import CellQuestion, Contrast, Figure, Lesson, NumberQuestion, Onward, Shown, Step
from viz.lessons.subject import Subject
from viz.theme import Theme

SEED = 0
PLACES: tuple[NormPosition, NormPosition] = ("pre", "post")
MOST_PARAMETERS = 100_000_000
"""Of larger models two random ones would fill the server's memory."""


def stack_of(subject: Subject) -> Stack:
    """The stack that is followed: the last."""
    return stacks(subject.run.trace)[-1]


def lengths_of(subject: Subject, place: NormPosition) -> tuple[list[str], NDArray[np.float32]]:
    """Points and lengths (P, T) of the stream in an untrained model with its norms at this place."""

    def run() -> tuple[list[str], NDArray[np.float32]]:
        twin = run_again(subject.twin(SEED, place), subject.run)
        return stream_lengths(twin.trace, stack_of(subject))

    return subject.kept(f"lengths {place}", run)


def growth_of(subject: Subject, place: NormPosition) -> float:
    """How many times longer the vectors are after the last layer than before the first, on average."""
    _, lengths = lengths_of(subject, place)
    return float(lengths[-1].mean() / lengths[0].mean())


def gradients(subject: Subject) -> NDArray[np.float64]:
    """(2, L): how much gradient arrives where each layer begins, in both untrained models, of the whole."""

    def measure() -> NDArray[np.float64]:
        rows = []
        for place in PLACES:
            twin = subject.twin(SEED, place)
            rows.append(stream_gradients(twin, run_again(twin, subject.run), stack_of(subject)))
        return np.array(rows)

    return subject.kept("gradients", measure)


def _large(subject: Subject) -> str:
    n = sum(parameter.numel() for parameter in subject.loaded.model.parameters())
    if n > MOST_PARAMETERS:
        return (
            f"This model has {n / 1e6:.0f} million parameters: two random ones of its size would take too "
            "much of the server's memory. Choose a smaller one in the sidebar."
        )
    return ""


def _reason_growth(subject: Subject) -> str:
    return (
        f"{growth_of(subject, 'pre'):.2f} times. In pre-norm every sublayer adds to a sum that nobody "
        f"brings back, until the final norm. In post-norm it is {growth_of(subject, 'post'):.2f} times: "
        "each norm brings the vectors back to √d_model."
    )


def _reason_gradient(subject: Subject) -> str:
    found = gradients(subject)
    row, layer = np.unravel_index(int(found.argmin()), found.shape)
    ends = "; ".join(
        f"in {place}-norm {values[0]:.2g} arrives at layer 0 and {values[-1]:.2g} at layer {len(values) - 1}"
        for place, values in zip(PLACES, found, strict=True)
    )
    return (
        f"{PLACES[int(row)].capitalize()}-norm, layer {layer}: {ends}. On the way back a gradient passes "
        "the sum unchanged, and each norm rescales it. In pre-norm it passes no norm between the layers; in "
        "post-norm one or more per layer, so that in deep stacks layers are trained at different speeds, "
        "and the learning rate has to rise slowly (Xiong et al. 2020). That is why most models since GPT-2 "
        "are pre-norm, though the paper's was post-norm, which with a warmup ends as good or better."
    )


def _course(subject: Subject, place: NormPosition) -> Shown:
    def draw(subject: Subject, theme: Theme) -> go.Figure:
        points, lengths = lengths_of(subject, place)
        return growth(points, {f"{place}-norm": lengths}, theme=theme)

    formula = (
        r"x + \text{Sublayer}(\text{Norm}(x))" if place == "pre" else r"\text{Norm}(x + \text{Sublayer}(x))"
    )
    return Shown(
        f"$x \\leftarrow {formula}$",
        (
            Figure(
                draw,
                "The mean length of the vectors along the stack, before any training.",
                f"lesson-{place}-norm",
            ),
        ),
    )


LESSON = Lesson(
    number=11,
    title="Pre-norm and post-norm",
    asks=("Should the norm stand before or after the sublayer?",),
    unfit=_large,
    steps=(
        Step(
            "Where the norm stands",
            lambda subject: (
                "The paper puts the norm after each sum: **post-norm**. Most later models put it before "
                "each sublayer and leave the sum alone: **pre-norm**. This one is "
                f"{subject.config.norm_position}-norm. What follows are two models of its sizes with the "
                "same random weights, before any training."
            ),
            NumberQuestion(
                name="growth",
                asks=lambda subject: (
                    f"By which factor do the vectors grow in the {stack_of(subject)} of the pre-norm model, "
                    f"from its input to the end of its {subject.run.trace.n_layers(stack_of(subject))} "
                    "layers?"
                ),
                answer=lambda subject: growth_of(subject, "pre"),
                unit="times",
                least=0,
                most=lambda _: 10_000,
                step=0.1,
                share=0.25,
                reason=_reason_growth,
            ),
            contrast=Contrast(
                "An untrained model of these sizes",
                {
                    "Pre-norm": lambda subject: _course(subject, "pre"),
                    "Post-norm": lambda subject: _course(subject, "post"),
                },
            ),
        ),
        Step(
            "What arrives at the bottom",
            "A model learns from the gradient of its loss, which comes from above. How much of it arrives "
            "where a layer begins?",
            CellQuestion(
                name="gradient",
                asks="Where is the gradient smallest? Click a cell.",
                rows=lambda _: [f"{place}-norm" for place in PLACES],
                columns=lambda subject: [f"layer {layer}" for layer in range(gradients(subject).shape[1])],
                axes=("model", "layer"),
                values=gradients,
                unit="length of the gradient",
                best="smallest",
                reason=_reason_gradient,
            ),
        ),
    ),
    takeaway=(
        "Pre-norm leaves the sum alone and trains without a warmup; post-norm keeps it in bounds and needs "
        "one."
    ),
    onward=(
        Onward("The stream of this model and of both untrained ones, on Layer norm", "layer-norm"),
        Onward("Train both and compare, on Training", "training", lambda _: {"train_norm": "post"}),
    ),
)
