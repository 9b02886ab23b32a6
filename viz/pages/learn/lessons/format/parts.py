"""The parts of a lesson: prose, questions that the reader answers first, pictures and contrasts.

A lesson is a module in viz/pages/learn/lessons that defines `LESSON`; docs/lessons.md shows how to write one.
Every answer is computed from the reader's own run: a lesson contains functions, not answers.
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
        caption: one sentence that describes it.
        name: file name for saving it; letters, digits and dashes.
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
        task: the task to train on.
    """

    task: TaskName


Picture: TypeAlias = Figure | Viewing | Training


@dataclass(frozen=True)
class Shown:
    """Text and pictures shown after a question or in one case of a contrast."""

    text: Text = ""
    pictures: Sequence[Picture] = ()


Seen: TypeAlias = Shown | Picture | Callable[[Subject], Shown | Picture]
"""A picture that needs no text stands for itself."""


@dataclass(frozen=True)
class Contrast:
    """Two or more cases to switch between.

    Attributes:
        asks: label that says what to compare.
        cases: what each case shows, by its name.
    """

    asks: str
    cases: Mapping[str, Seen]


@dataclass(frozen=True)
class Dial:
    """A number to vary, and its effect.

    Attributes:
        asks: label that says what the number is.
        values: the choices.
        first: the initial value.
        shown: what to show for a value.
    """

    asks: str
    values: Callable[[Subject], Sequence[float]]
    first: Callable[[Subject], float]
    shown: Callable[[Subject, float], Shown]


@dataclass(frozen=True)
class Step:
    """One screen of a lesson.

    If the question is pointless and has no alternative, only the reason is shown.

    Attributes:
        title: the heading.
        text: the introduction.
        question: asked after the text.
        shown: shown once the question is answered, or at once if there is none.
        contrast: interactive comparison shown last.
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
        label: the text of its button.
        page: its path, one of viz.page_titles.TITLES.
        said: query parameters of its address, besides model and sentence.
    """

    label: str
    page: str
    said: Callable[[Subject], Mapping[str, str]] = lambda _: {}


@dataclass(frozen=True)
class Lesson:
    """A lesson of about five minutes.

    Attributes:
        number: its place in the order.
        title: the heading.
        asks: the questions that it answers, in a learner's words.
        steps: in order; at least one has a question that is not a `ChoiceQuestion`.
        takeaway: one sentence.
        onward: where to continue.
        offers: the target tokens, by step, of which the reader may choose one to ask about; empty if none.
        unfit: why a model can't be used for it, and what to choose instead; empty if it can.
        prepared: sentences that show most, by the name of a shipped model.
    """

    number: int
    title: str
    asks: Sequence[str]
    steps: Sequence[Step]
    takeaway: Text
    onward: Sequence[Onward]
    offers: Callable[[Subject], Mapping[int, str]] = lambda _: {}
    unfit: Callable[[Subject], str] = lambda _: ""
    prepared: Mapping[str, str] = field(default_factory=dict)


def seen(shown: Seen, subject: Subject) -> Shown:
    """The text and pictures for a subject."""
    made = shown(subject) if callable(shown) else shown
    return made if isinstance(made, Shown) else Shown(pictures=(made,))
