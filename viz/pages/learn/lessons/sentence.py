"""Lesson 9: from logits to a sentence: greedy, beam and sampling."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.decoding.beam_tree import BeamTree
from transformer.decoding.sampling import sampling_distribution
from transformer.run import draw_target, search
from viz.figures.bars import token_bars
from viz.figures.decoding import next_words
from viz.figures.numbers import number
from viz.markdown import quoted, table
from viz.pages.learn.lessons.format.parts import Contrast, Dial, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import ChoiceQuestion, NumberQuestion, TokenQuestion
from viz.pages.learn.lessons.format.subject import Subject
from viz.run_figures.decoding import next_tokens_figure
from viz.theme import Theme

BEAM_SIZE = 4
TEMPERATURES = (0.1, 0.5, 1.0, 1.5, 2.0, 4.0)
N_DRAWN = 5
N_SHOWN = 6


def doubtful(subject: Subject) -> int:
    """The step at which the target's token was least probable."""
    return int(np.argmin([step.probability for step in subject.run.steps]))


def candidates(subject: Subject) -> list[tuple[int, float]]:
    """The most probable tokens at that step with their probabilities, ordered by id."""
    step = subject.run.steps[doubtful(subject)]
    return sorted(zip(step.top_ids, step.top_probabilities, strict=True))


def log_probability(subject: Subject) -> float:
    """The log-probability of the whole target, including its end, in nats."""
    return sum(math.log(max(step.probability, 1e-30)) for step in subject.run.steps)


def tree_of(subject: Subject) -> BeamTree:
    """Beam search for the most probable target, without a length penalty."""
    return subject.kept(
        "beam", lambda: search(subject.loaded, subject.run.source, beam_size=BEAM_SIZE, alpha=0.0)
    )


def greedy_ids(subject: Subject) -> tuple[int, ...]:
    """The greedy output without the end token."""
    run = subject.run
    ids = [step.token_id for step in run.steps]
    return tuple(ids[:-1] if run.finished else ids)


def tempered(subject: Subject, temperature: float) -> NDArray[np.float64]:
    """(V,): the probabilities at the doubtful step, at a temperature."""
    probabilities: NDArray[np.float64] = (
        sampling_distribution(
            subject.run.target_logits[doubtful(subject)],
            temperature=temperature,
            suppressed_ids=subject.loaded.target.special_tokens.suppressed,
        )
        .double()
        .numpy()
    )
    return probabilities


def _written(subject: Subject, ids: tuple[int, ...] | list[int]) -> str:
    return quoted(subject.loaded.target.decode(ids), limit=200)


def _token(subject: Subject, token_id: int) -> str:
    return quoted(subject.loaded.target.token(token_id))


def _so_far(subject: Subject) -> str:
    ids = [step.token_id for step in subject.run.steps[: doubtful(subject)]]
    return f"After {_written(subject, ids)}" if ids else "At the very beginning"


def _reason_candidate(subject: Subject) -> str:
    step = subject.run.steps[doubtful(subject)]
    best, second = step.top_probabilities[0], step.top_probabilities[1] if len(step.top_ids) > 1 else 0.0
    return (
        f"{_token(subject, step.top_ids[0])} has {best:.1%}"
        + (f", the next, {_token(subject, step.top_ids[1])}, {second:.1%}" if second else "")
        + ". The decoder's last vector is compared with the vector of every token of the vocabulary: that "
        "gives the **logits**, and softmax makes probabilities of them. Greedy decoding takes the "
        "largest. This was the step of your sentence at which the model was least sure."
    )


def _next(subject: Subject, theme: Theme) -> go.Figure:
    step = subject.run.steps[doubtful(subject)]
    return next_tokens_figure(step, subject.loaded.target, theme=theme)


def _falling(subject: Subject, theme: Theme) -> go.Figure:
    steps = subject.run.steps
    return token_bars(
        np.cumprod([step.probability for step in steps]),
        [subject.loaded.target.token(step.token_id) for step in steps],
        theme=theme,
        quantity="probability up to here",
    )


def _asks_whole(subject: Subject) -> str:
    shown = subject.run.steps[:12]
    steps = " · ".join(f"{step.probability:.3f}" for step in shown)
    rest = math.prod(step.probability for step in subject.run.steps[12:])
    more = f" · {rest:.3f} for all that follow" if len(subject.run.steps) > 12 else ""
    return (
        # Without the sentence, which has the answer to the first question.
        f"The {len(subject.run.steps)} tokens that greedy decoding takes here, "
        f"{'the end included, ' if subject.run.finished else ''}have the probabilities {steps}{more}, each "
        "given those before it. What is the probability of the whole, in percent?"
    )


def _reason_whole(subject: Subject) -> str:
    total = log_probability(subject)
    return (
        f"They are multiplied: {math.exp(total):.2%}. Even a sentence of which every word is likely is not: "
        "there are so many sentences. Programs add natural logarithms instead, whose unit is the nat, here "
        f"{number(total, 2)} nats, because products of many small numbers become 0 in a computer."
    )


def is_greedy_best(subject: Subject) -> bool:
    """True if beam search found the same target as greedy decoding."""
    return tree_of(subject).hypotheses[0].ids == greedy_ids(subject)


def _reason_beam(subject: Subject) -> str:
    best = tree_of(subject).hypotheses[0]
    own = log_probability(subject)
    if is_greedy_best(subject):
        return (
            f"The same: {_written(subject, best.ids)}, {number(best.log_probability, 2)} nats. Of "
            f"{BEAM_SIZE} beginnings followed at a time none led to a more probable sentence. Here greedy "
            "decoding is as good, and it is faster."
        )
    return (
        f"Another: {_written(subject, best.ids)} has {number(best.log_probability, 2)} nats, greedy's "
        f"{_written(subject, greedy_ids(subject))} {number(own, 2)}. Somewhere it takes a token that is "
        "less probable, and what follows makes up for it. More probable need not be better: the most "
        "probable sentence is often a short one, which is what the length penalty is for."
    )


def _hypotheses(subject: Subject) -> Shown:
    found = [
        (_written(subject, one.ids), number(one.log_probability, 2)) for one in tree_of(subject).hypotheses
    ]
    return Shown(table(("what it found", "log-probability (nats)"), found))


def _greedy(subject: Subject) -> Shown:
    wrote = _written(subject, greedy_ids(subject)), number(log_probability(subject), 2)
    return Shown(table(("what it wrote", "log-probability (nats)"), [wrote]))


def _drawn(subject: Subject, temperature: float) -> Shown:
    def draw() -> list[str]:
        return [
            _written(
                subject,
                draw_target(subject.loaded, subject.run.source, seed=seed, temperature=temperature).ids,
            )
            for seed in range(N_DRAWN)
        ]

    texts = subject.kept(f"drawn at {temperature}", draw)
    probabilities = tempered(subject, temperature)
    best = np.argsort(-probabilities, kind="stable")[:N_SHOWN]
    names = [subject.loaded.target.token(int(index)) for index in best]
    return Shown(
        f"At temperature **{temperature:g}**, {N_DRAWN} draws:\n\n"
        + "\n".join(f"- {text}" for text in texts),
        (
            Figure(
                lambda _, theme: next_words(names, probabilities[best], theme=theme),
                "The probabilities with which the token of the doubtful step is drawn.",
                "lesson-temperature",
            ),
        ),
    )


LESSON = Lesson(
    number=9,
    title="From logits to a sentence",
    asks=("How does a model that gives probabilities write a sentence?", "What do beam and temperature do?"),
    unfit=lambda subject: (
        ""
        if subject.config.n_decoder_layers and subject.run.steps
        else "This model writes no sentences. Choose one with a decoder and a generator in the sidebar, "
        "such as en-it."
    ),
    steps=(
        Step(
            "One step",
            "A sentence is written one token at a time. At each step the model gives every token of its "
            "vocabulary a probability of coming next, and one of them is taken.",
            TokenQuestion(
                name="candidate",
                asks=lambda subject: (
                    f"{_so_far(subject)}, these are the best candidates, in no order. Which one does the "
                    "model find most probable?"
                ),
                tokens=lambda subject: [
                    subject.loaded.target.token(token_id) for token_id, _ in candidates(subject)
                ],
                values=lambda subject: [probability for _, probability in candidates(subject)],
                unit="probability",
                reason=_reason_candidate,
            ),
            Figure(_next, "The best candidates of that step.", "lesson-candidates"),
        ),
        Step(
            "The whole sentence",
            "Always taking the most probable token is **greedy decoding**. What does a model that gives "
            "probabilities of single tokens say of a whole sentence?",
            NumberQuestion(
                name="whole",
                asks=_asks_whole,
                answer=lambda subject: 100 * math.exp(log_probability(subject)),
                unit="percent",
                most=lambda _: 100,
                step=0.1,
                within=1,
                share=0.05,
                reason=_reason_whole,
            ),
            Figure(
                _falling,
                "The probability of the sentence up to each token: it can only fall.",
                "lesson-whole",
            ),
        ),
        Step(
            "A beam looks further",
            f"Greedy decoding can't take a word back. A **beam** of {BEAM_SIZE} follows {BEAM_SIZE} "
            "beginnings at a time and keeps the best of all their continuations.",
            ChoiceQuestion(
                name="beam",
                asks=f"Does a beam of {BEAM_SIZE} find the same sentence as greedy decoding here?",
                options=lambda _: ("the same", "another, more probable one"),
                answer=lambda subject: 0 if is_greedy_best(subject) else 1,
                reason=_reason_beam,
            ),
            contrast=Contrast("Decoding", {"Greedy": _greedy, f"Beam of {BEAM_SIZE}": _hypotheses}),
        ),
        Step(
            "Sampling",
            "Translations are searched for. Stories are drawn: each token at random, by its probability. "
            "The **temperature** divides the logits before.",
            NumberQuestion(
                name="temperature",
                asks=lambda subject: (
                    "At the step where the model was least sure, the best token has "
                    f"{100 * tempered(subject, 1.0).max():.1f} %. How many percent does it have at "
                    "temperature 2?"
                ),
                answer=lambda subject: 100 * float(tempered(subject, 2.0).max()),
                unit="percent",
                most=lambda _: 100,
                step=1,
                within=10,
                reason=lambda subject: (
                    f"{tempered(subject, 2.0).max():.1%}. Halved logits mean halved differences: a token "
                    "that was 100 times as probable is now 10 times as probable. And there are many "
                    "improbable tokens to share what the best one loses."
                ),
            ),
            contrast=Dial("Temperature", lambda _: TEMPERATURES, lambda _: 1.0, _drawn),
        ),
    ),
    takeaway=(
        "A model gives probabilities of the next token; greedy, beam and sampling are three ways to make "
        "sentences of them."
    ),
    onward=(
        Onward("The search as a tree, step by step, on Decode", "decode", lambda _: {"section": "Search"}),
    ),
)
