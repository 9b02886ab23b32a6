"""Lesson 11: pre-norm and post-norm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.analysis.attention_maps import stacks
from transformer.analysis.gradients import stream_gradients
from transformer.analysis.residual import stream_lengths
from transformer.model.config import NormPosition
from transformer.model.trace import Stack
from transformer.run import run_again
from viz.figures.bars import token_bars
from viz.figures.norms import growth
from viz.figures.numbers import number
from viz.pages.learn.lessons.computed.twins import DEPTH, deep_twin, too_large
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, NumberQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme

PLACES: tuple[NormPosition, NormPosition] = ("pre", "post")
LAYERS = tuple(f"layer {layer}" for layer in range(DEPTH))


def stack_of(subject: Subject) -> Stack:
    """The stack to follow: the last."""
    return stacks(subject.run.trace)[-1]


class Untrained(NamedTuple):
    """An untrained model's run of the reader's sentence.

    Attributes:
        lengths: (DEPTH + 1, T), of the stream's vectors at the input and after each layer.
        gradients: the size of the gradient at the input of each of its `DEPTH` layers.
    """

    lengths: NDArray[np.float32]
    gradients: list[float]


def untrained(subject: Subject, place: NormPosition) -> Untrained:
    """Run the deep twin with a norm position and measure it; the twin itself is discarded."""

    def measure() -> Untrained:
        twin, stack = deep_twin(subject, place), stack_of(subject)
        run = run_again(twin, subject.run)
        _, lengths = stream_lengths(run.trace, stack)
        n_sublayers = (len(lengths) - 1) // DEPTH
        return Untrained(lengths[::n_sublayers], stream_gradients(twin, run, stack))

    return subject.kept(f"untrained {place}", measure)


def growth_of(subject: Subject, place: NormPosition) -> float:
    """The factor by which the mean vector length grows from the first layer's input to the last's output."""
    lengths = untrained(subject, place).lengths
    return float(lengths[-1].mean() / lengths[0].mean())


def gradients(subject: Subject) -> NDArray[np.float64]:
    """(2, DEPTH): the size of the gradient at each layer's input, in both untrained models."""
    return np.array([untrained(subject, place).gradients for place in PLACES])


def _reason_growth(subject: Subject) -> str:
    return (
        f"{growth_of(subject, 'pre'):.2f} times. In pre-norm every sublayer adds to a sum that nothing "
        f"brings back, until the final norm. In post-norm it is {growth_of(subject, 'post'):.2f} times: "
        "each norm brings every vector back to a length of about √d_model = "
        f"{subject.config.d_model**0.5:.1f}, which is where an untrained norm puts it."
    )


def _reason_gradient(subject: Subject) -> str:
    found = gradients(subject)
    row, layer = np.unravel_index(int(found.argmin()), found.shape)
    pre, post = (f"{number(ratio, 3 if ratio < 0.1 else 2)} times" for ratio in found[:, 0] / found[:, -1])
    return (
        f"{PLACES[int(row)].capitalize()}-norm, layer {layer}. In pre-norm layer 0 gets {pre} as much as "
        f"layer {DEPTH - 1}, in post-norm {post}. On its way down a gradient passes a sum unchanged, and a "
        "norm divides it by the size that the norm took away. Pre-norm has no norm on the direct way from "
        "layer to layer; post-norm has one after every sublayer, and they multiply. So in a deep post-norm "
        "model the layers next to the output get gradients far larger than those next to the input: no "
        "learning rate suits both, and it has to rise slowly from 0, which is called a **warmup** (Xiong et "
        "al. 2020). That is why most models since GPT-2 are pre-norm. The paper's was post-norm, of 6 "
        "layers and with a warmup, and trained so it is as good or better."
    )


def _course(subject: Subject, place: NormPosition) -> Shown:
    def draw(subject: Subject, theme: Theme) -> go.Figure:
        lengths = untrained(subject, place).lengths
        return growth(("input", *LAYERS), {f"{place}-norm": lengths}, theme=theme)

    formula = (
        r"x + \text{Sublayer}(\text{Norm}(x))" if place == "pre" else r"\text{Norm}(x + \text{Sublayer}(x))"
    )
    return Shown(
        f"$x \\leftarrow {formula}$",
        (
            Figure(
                draw,
                "How long the vectors are at the input and after each layer, before any training.",
                f"lesson-{place}-norm",
            ),
        ),
    )


def _arriving(subject: Subject, place: NormPosition) -> Figure:
    lengths = np.array(untrained(subject, place).gradients)
    return Figure(
        lambda _, theme: token_bars(
            lengths, LAYERS, theme=theme, quantity="length of the gradient", axis="layer"
        ),
        f"How much of the gradient arrives where each layer of the {place}-norm model begins.",
        f"lesson-{place}-norm-gradient",
    )


NORMS = {
    "pre": "is pre-norm",
    "post": "is post-norm",
    "both": "has norms in both places: one before each sublayer and one of what it adds",
    "output": "norms what each sublayer adds, before it is added, and leaves the sum alone",
    "none": "has no norms around its sublayers",
}

LESSON = Lesson(
    number=11,
    title="Pre-norm and post-norm",
    asks=("Should the norm stand before or after the sublayer?",),
    unfit=lambda subject: too_large(subject, deep=True),
    steps=(
        Step(
            "Where the norm stands",
            lambda subject: (
                "The paper puts the norm after each sum: **post-norm**. Most later models put it before "
                "each sublayer and leave the sum alone: **pre-norm**. This one "
                f"{NORMS[subject.config.norm_position]}. What follows are two models as wide as this one "
                f"with the same random weights, before any training, of {DEPTH} layers each, because what "
                "happens is hard to see in a few."
            ),
            NumberQuestion(
                name="growth",
                asks=lambda subject: (
                    f"By which factor do the vectors grow in the {stack_of(subject)} of the pre-norm model, "
                    f"from its input to the end of its {DEPTH} layers?"
                ),
                answer=lambda subject: growth_of(subject, "pre"),
                unit="times",
                most=lambda _: 10_000,
                step=0.1,
                share=0.25,
                reason=_reason_growth,
            ),
            contrast=Contrast(
                "An untrained model",
                {
                    "Pre-norm": lambda subject: _course(subject, "pre"),
                    "Post-norm": lambda subject: _course(subject, "post"),
                },
            ),
        ),
        Step(
            "What arrives at the bottom",
            "A model learns from the **gradient** of its loss: how much the loss would change if a number "
            "changed a little. It is computed from the output downwards, layer by layer, and a layer that "
            "hardly any of it reaches hardly learns. How much arrives where a layer begins?",
            CellQuestion(
                name="gradient",
                asks=(
                    "Where is the gradient smallest in these two models, for your sentence? Layer 0 is next "
                    "to the input."
                ),
                rows=lambda _: [f"{place}-norm" for place in PLACES],
                columns=lambda _: LAYERS,
                axes=("model", "layer"),
                values=gradients,
                unit="length of the gradient",
                best="smallest",
                reason=_reason_gradient,
            ),
            contrast=Contrast(
                "What arrives in each layer",
                {
                    "Pre-norm": lambda subject: _arriving(subject, "pre"),
                    "Post-norm": lambda subject: _arriving(subject, "post"),
                },
            ),
        ),
    ),
    takeaway=(
        "Pre-norm leaves the sum alone and its gradient reaches every layer; post-norm keeps the sum in "
        "bounds and needs a warmup."
    ),
    onward=(
        Onward(
            "The stream of this model, on Layer norm", "layer-norm", lambda _: {"section": "Residual stream"}
        ),
        Onward(
            "The streams of both before training, on Layer norm",
            "layer-norm",
            lambda _: {"section": "Before training"},
        ),
        Onward("Train both and compare, on Training", "training", lambda _: {"train_norm": "post"}),
    ),
)
