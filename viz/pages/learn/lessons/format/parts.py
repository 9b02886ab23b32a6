"""What a lesson is made of: prose, questions that the reader answers first, pictures and contrasts.

A lesson is a file of viz/pages/learn/lessons with a `LESSON` in it; docs/lessons.md shows how one is written.
Every answer is computed from the reader's own run: a lesson holds functions, no answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from transformer.training.plan import TaskName
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme

Text: TypeAlias = str | Callable[[Subject], str]
"""Markdown of ours, or what makes it of a run; text of users in it has gone through `quoted`."""


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
        draw: makes it, from viz.figures.
        caption: one sentence that says what is drawn.
        name: of the file it is saved to; letters, digits and dashes.
    """

    draw: Callable[[Subject, Theme], go.Figure]
    caption: Text
    name: str


@dataclass(frozen=True)
class Viewing:
    """The viewer of the run's attention.

    Attributes:
        chosen: fields of `viz.viewer.choice.Choice` that it begins with.
        views: those that are offered.
    """

    chosen: Callable[[Subject], Mapping[str, Any]]
    views: Sequence[str] = ("head",)


@dataclass(frozen=True)
class Training:
    """A live training run, to be started by the reader.

    Attributes:
        task: what is trained.
    """

    task: TaskName


Picture: TypeAlias = Figure | Viewing | Training


@dataclass(frozen=True)
class Shown:
    """Words and pictures together: what is seen after a question, or in one case of a contrast."""

    text: Text = ""
    pictures: Sequence[Picture] = ()


Seen: TypeAlias = Shown | Callable[[Subject], Shown]


@dataclass(frozen=True)
class Contrast:
    """Two or more cases to switch between.

    Attributes:
        asks: what to compare; a label.
        cases: each case by its name.
    """

    asks: str
    cases: Mapping[str, Seen]


@dataclass(frozen=True)
class Dial:
    """A number to turn, and what it changes.

    Attributes:
        asks: what the number is; a label.
        values: what it can be.
        first: what it begins with.
        shown: what is seen at a value.
    """

    asks: str
    values: Callable[[Subject], Sequence[float]]
    first: Callable[[Subject], float]
    shown: Callable[[Subject, float], Shown]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that is answered before the picture is shown.

    Attributes:
        name: within the lesson; small letters and dashes. What was answered is kept under it.
        asks: the question.
        reason: why the right answer is right, with this run's numbers.
        pointless: why there is nothing to ask of a run; empty where there is.
        instead: what is asked then.
    """

    name: str
    asks: Text
    reason: Callable[[Subject], str]
    pointless: Callable[[Subject], str] = lambda _: ""
    instead: Question | None = None


@dataclass(frozen=True, kw_only=True)
class TokenQuestion(Question):
    """Answered by a click on one token of a row.

    Attributes:
        tokens: what can be clicked.
        values: a number for each of them, which is shown afterwards; None for a token that can't be it.
        unit: what the numbers are.
        best: which is right: the "largest" of the values or the "smallest"; several where they are equal.
    """

    tokens: Callable[[Subject], Sequence[str]]
    values: Callable[[Subject], Sequence[float | None]]
    unit: str
    best: str = "largest"


@dataclass(frozen=True, kw_only=True)
class CellQuestion(Question):
    """Answered by a click on one cell of a matrix that is still empty.

    Attributes:
        rows, columns: the labels.
        axes: what rows and columns are: ("query", "key").
        values: (rows, columns), shown afterwards; NaN where nothing can be clicked.
        unit: what the numbers are.
        best: as in `TokenQuestion`.
    """

    rows: Callable[[Subject], Sequence[str]]
    columns: Callable[[Subject], Sequence[str]]
    axes: tuple[str, str]
    values: Callable[[Subject], NDArray[np.floating[Any]]]
    unit: str
    best: str = "largest"


@dataclass(frozen=True, kw_only=True)
class NumberQuestion(Question):
    """Answered by a number.

    Attributes:
        answer: the right one.
        unit: what is counted or measured.
        is_quantity: whether `unit` names what the number is, as "score" does; "tokens" says what is counted.
        least, most: what can be typed.
        step: 1 for whole numbers.
        within: how far off a right answer may be.
        share: the same as a share of the right answer; the larger of both counts.
    """

    answer: Callable[[Subject], float]
    unit: str
    least: float
    most: Callable[[Subject], float]
    step: float = 1.0
    within: float = 0.0
    share: float = 0.0
    is_quantity: bool = False


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestion(Question):
    """Answered by choosing.

    Attributes:
        options: what can be chosen.
        answer: the index of the right one.
    """

    options: Callable[[Subject], Sequence[str]]
    answer: Callable[[Subject], int]


@dataclass(frozen=True)
class Step:
    """A part of a lesson that is seen at once.

    Where its question is pointless, and there is none instead, there is nothing to see either: only why.

    Attributes:
        title: what it is about.
        text: what is read first.
        question: what is asked then.
        shown: what is seen once the question is answered; at once where there is none.
        contrast: what can be switched or turned below.
    """

    title: str
    text: Text
    question: Question | None = None
    shown: Seen = field(default_factory=Shown)
    contrast: Contrast | Dial | None = None


@dataclass(frozen=True)
class Onward:
    """A way to continue alone: a page in the very state.

    Attributes:
        label: what there is to do.
        page: its path, one of viz.page_titles.TITLES.
        said: what else its address says, beside model and sentence.
    """

    label: str
    page: str
    said: Callable[[Subject], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True)
class Lesson:
    """About five minutes.

    Attributes:
        number: its place in the order.
        title: what it is called.
        asks: the questions that it answers, as a learner would ask them.
        steps: in order; at least one has a question that is not a `ChoiceQuestion`.
        takeaway: one sentence.
        onward: where to go on.
        unfit: why it can't be given with a model, and what to choose for it; empty where it can.
    """

    number: int
    title: str
    asks: Sequence[str]
    steps: Sequence[Step]
    takeaway: Text
    onward: Sequence[Onward]
    unfit: Callable[[Subject], str] = lambda _: ""


def said(text: Text, subject: Subject) -> str:
    """A text about a subject."""
    return text if isinstance(text, str) else text(subject)


def seen(shown: Seen, subject: Subject) -> Shown:
    """What is seen of a subject."""
    return shown if isinstance(shown, Shown) else shown(subject)


def asked(question: Question | None, subject: Subject) -> tuple[Question | None, list[str]]:
    """What is asked of a subject in a question's place, and why each one before it is pointless."""
    reasons = []
    while question is not None and (why := question.pointless(subject)):
        reasons.append(why)
        question = question.instead
    return question, reasons
