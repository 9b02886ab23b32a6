"""The parts of a lesson: prose, questions that the reader answers first, pictures and contrasts.

A lesson is a file of viz/pages/learn/lessons with a `LESSON` in it; docs/lessons.md shows how one is written.
Every answer is computed from the reader's own run: a lesson holds functions, no answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import plotly.graph_objects as go

from transformer.training.plan import TaskName
from viz.pages.learn.lessons.format.questions import Question, Text
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import Theme


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
        draw: draws it, with viz.figures.
        caption: one sentence about what it shows.
        name: file name for saving; letters, digits and dashes.
    """

    draw: Callable[[Subject, Theme], go.Figure]
    caption: Text
    name: str


@dataclass(frozen=True)
class Viewing:
    """The attention viewer, showing the run.

    Attributes:
        chosen: initial fields of `viz.viewer.choice.Choice`.
        views: the views offered.
    """

    chosen: Callable[[Subject], Mapping[str, Any]]
    views: Sequence[str] = ("head",)


@dataclass(frozen=True)
class Training:
    """A live training run that the reader starts.

    Attributes:
        task: name of the task.
    """

    task: TaskName


Picture: TypeAlias = Figure | Viewing | Training


@dataclass(frozen=True)
class Shown:
    """Text and pictures shown after a question or in one case of a contrast."""

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
    """A number to vary, and its effect.

    Attributes:
        asks: what the number is; a label.
        values: the choices.
        first: the initial value.
        shown: the effect of a value.
    """

    asks: str
    values: Callable[[Subject], Sequence[float]]
    first: Callable[[Subject], float]
    shown: Callable[[Subject, float], Shown]


@dataclass(frozen=True)
class Step:
    """A part of a lesson, shown at once.

    If its question is pointless and has no replacement, the step only says why.

    Attributes:
        title: its heading.
        text: the text before the question.
        question: its question, if any.
        shown: shown once the question is answered, or at once if there is none.
        contrast: cases or a dial below that.
    """

    title: str
    text: Text
    question: Question | None = None
    shown: Seen = field(default_factory=Shown)
    contrast: Contrast | Dial | None = None


@dataclass(frozen=True)
class Onward:
    """A suggestion for exploring further: a page in a given state.

    Attributes:
        label: the suggestion.
        page: its path, one of viz.page_titles.TITLES.
        said: further values of its address, besides model and sentence.
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


def seen(shown: Seen, subject: Subject) -> Shown:
    """The text and pictures for a subject."""
    return shown if isinstance(shown, Shown) else shown(subject)
