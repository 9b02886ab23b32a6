"""Lesson 10: how a model learns, in a live training run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.edited import effect_of
from transformer.data.tasks.symbols import REVERSE, SYMBOLS
from viz.figures.bars import token_bars
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.twins import random_twin, too_large
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step, Training
from viz.pages.learn.lessons.format.questions import NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject

FALLBACK = tuple("m7a3k2")
"""The symbols used if the reader's words give too few."""
LEAST, MOST = 3, 8
"""Fewest and most symbols to reverse."""


def symbols_of(subject: Subject) -> tuple[str, ...]:
    """The first letters of the reader's words, as symbols to reverse; `FALLBACK` if there are too few."""
    letters = [word[0].lower() for word in subject.text.split()]
    known = [letter for letter in letters if letter in SYMBOLS][:MOST]
    return tuple(known) if len(known) >= LEAST else FALLBACK


def asked_of(subject: Subject) -> int:
    """The position in the answer to ask about: the second."""
    return min(1, len(symbols_of(subject)) - 1)


def aligned(subject: Subject) -> list[float]:
    """For each symbol: 1 if the answer's symbol in question is a copy of it, else 0."""
    pair = REVERSE.solve(symbols_of(subject))
    return [float((position, asked_of(subject)) in pair.alignment) for position in range(len(pair.source))]


def loss_of(subject: Subject) -> float:
    """The mean negative log-probability of the run's tokens, in nats."""
    steps = subject.run.steps
    return -sum(math.log(max(step.probability, 1e-30)) for step in steps) / len(steps)


def _n_tokens(subject: Subject) -> int:
    return subject.config.tgt_vocab_size or subject.config.src_vocab_size


def _no_steps(subject: Subject) -> str:
    return (
        ""
        if subject.run.steps
        else "This model has no generator, so it gives no probabilities and has no such loss."
    )


def _told(subject: Subject, probabilities: NDArray[np.floating], who: str, name: str) -> Shown:
    """A model's probabilities of the run's tokens, and their mean loss."""
    tokens = [_token(subject, step.token_id) for step in subject.run.steps]
    loss = -float(np.log(np.maximum(probabilities, 1e-30)).mean())
    return Shown(
        f"The mean loss of {who} is **{loss:.2f}** nats.",
        (
            Figure(
                lambda _, theme: token_bars(probabilities, tokens, theme=theme, quantity="probability"),
                f"The probability that {who} gives to each token of the run.",
                f"lesson-{name}",
            ),
        ),
    )


def _before(subject: Subject) -> Shown:
    if why := _no_steps(subject) or too_large(subject, deep=False):
        return Shown(why)
    untrained = subject.kept(
        "before training", lambda: effect_of(random_twin(subject, subject.config), subject.run, {})
    )
    told = _told(subject, untrained.probabilities.numpy(), "a model with random weights", "before-training")
    return replace(told, text=f"{told.text} It knows nothing either, but what it prefers by chance differs.")


def _as_it_is(subject: Subject) -> Shown:
    if why := _no_steps(subject):
        return Shown(why)
    probabilities = np.array([step.probability for step in subject.run.steps])
    return _told(subject, probabilities, "this model", "as-it-is")


def _asks_loss(subject: Subject) -> str:
    shown = subject.run.steps[:6]
    listed = ", ".join(f"{quoted(_token(subject, step.token_id))} {step.probability:.1%}" for step in shown)
    more = " and so on" if len(subject.run.steps) > len(shown) else ""
    return (
        f"In your run the tokens have these probabilities: {listed}{more}; the geometric mean is "
        f"{math.exp(-loss_of(subject)):.1%}. The **loss** of a token is minus the natural logarithm of its "
        "probability. What is the mean loss, in nats?"
    )


def _token(subject: Subject, token_id: int) -> str:
    coder = subject.loaded.source if subject.run.decoder_input is None else subject.loaded.target
    return coder.token(token_id)


def _row_of(subject: Subject) -> str:
    return (
        "Here is a row of symbols; your sentence has too few words whose first letters would make one."
        if symbols_of(subject) is FALLBACK
        else "Here is a row made of the first letters of your words."
    )


def _reason_source(subject: Subject) -> str:
    symbols = symbols_of(subject)
    pair = REVERSE.solve(symbols)
    return (
        f"The answer is {quoted(' '.join(pair.target))}: its symbol at position {asked_of(subject)} is a "
        f"copy of the one at position {len(symbols) - 1 - asked_of(subject)}. So a model that has learned "
        "Reverse must look there: in the grid of its cross-attention the bright cells go from the upper "
        "right to the lower left."
    )


LESSON = Lesson(
    number=10,
    title="How it learns",
    asks=("What is trained, and by what?", "Where do the pictures of attention come from?"),
    steps=(
        Step(
            "One number says how wrong it is",
            "All weights begin as random numbers. Training asks, for each token of the right answer: what "
            "probability did you give it? The gradient then says how each weight has to change for that to "
            "be larger.",
            NumberQuestion(
                name="loss",
                asks=_asks_loss,
                answer=loss_of,
                unit="nats",
                most=lambda _: 100,
                step=0.01,
                within=0.02,
                share=0.1,
                reason=lambda subject: (
                    f"−ln {math.exp(-loss_of(subject)):.3f} = {loss_of(subject):.3f}. A certain and right "
                    "model has loss 0."
                ),
                pointless=_no_steps,
            ),
        ),
        Step(
            "Before the first update",
            "A change of all weights by a little, along the gradient, is an **update**; training consists "
            "of thousands of them. Where does it begin?",
            NumberQuestion(
                name="chance",
                asks=lambda subject: (
                    f"A model that knows nothing finds all {_n_tokens(subject):,} tokens of this vocabulary "
                    "equally probable. What is its loss, in nats?"
                ),
                answer=lambda subject: math.log(_n_tokens(subject)),
                unit="nats",
                most=lambda _: 100,
                step=0.1,
                within=0.2,
                reason=lambda subject: (
                    f"ln {_n_tokens(subject):,} = {math.log(_n_tokens(subject)):.2f}. If training begins "
                    "far above, something is wrong with the first weights; if it is near 0 at once, the "
                    "model sees the answers."
                ),
            ),
            contrast=Contrast(
                "The tokens of your run", {"Before training": _before, "This model": _as_it_is}
            ),
        ),
        Step(
            "What must it look at?",
            "The task **Reverse** is so simple that one knows what a head must do: the answer is the row "
            "from its end.",
            TokenQuestion(
                name="source",
                asks=lambda subject: (
                    f"{_row_of(subject)} The model is to write it from its end. When it writes the symbol "
                    f"at position {asked_of(subject)} of the answer (counted from 0), which symbol of the "
                    "row must it look at?"
                ),
                tokens=symbols_of,
                values=aligned,
                unit="is copied (1) or not (0)",
                reason=_reason_source,
            ),
            Shown(
                "Now start a training run of Reverse and watch: first the loss falls, then the lines of the "
                "cross-attention turn into that pattern. It takes a minute or two.",
                (Training("reverse"),),
            ),
        ),
    ),
    takeaway="Nobody programs what a head looks at: it is what made the right answers more probable.",
    onward=(
        Onward(
            "Other tasks, sizes and learning rates, on Training", "training", lambda _: {"task": "reverse"}
        ),
    ),
)
