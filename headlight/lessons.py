"""The lessons of the page Learn in a notebook: ask, check an answer against the run, then show pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.widget import AttentionWidget
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.markdown import quoted, table
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.format.parts import (
    Contrast,
    Dial,
    Figure,
    Picture,
    Shown,
    Training,
    Viewing,
    seen,
)
from viz.pages.learn.lessons.format.questions import (
    BoardQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    Verdict,
    asked,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject
from viz.theme import palette
from viz.viewer.viewer_run import view_run


@dataclass(frozen=True)
class Output:
    """The output of a cell: Markdown, figures and viewers, one below the other.

    Attributes:
        parts: in order; text is Markdown.
    """

    parts: Sequence[str | go.Figure | AttentionWidget]

    def __repr__(self) -> str:
        """The text, without figures and viewers."""
        return "\n\n".join(part for part in self.parts if isinstance(part, str))

    def _ipython_display_(self) -> None:
        from IPython import display

        for part in self.parts:
            display.display(display.Markdown(part) if isinstance(part, str) else part)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, repr=False)
class Checked(Output):
    """The verdict on an answer.

    Attributes:
        is_right: true if the answer is right.
    """

    is_right: bool


class Lesson:
    """One lesson about a sentence in a model.

    Args:
        name: the lesson's name.
        subject: its sentence and run.
    """

    def __init__(self, name: str, subject: Subject) -> None:
        self._lesson, self._subject = lessons()[name], subject
        self._questions = {
            question.name: question
            for step in self._lesson.steps
            if (question := asked(step.question, subject)[0]) is not None
        }

    def __repr__(self) -> str:
        return f"<Lesson {self._lesson.number}, {self._lesson.title}: {', '.join(self._questions)}>"

    def ask(self, question: str) -> Output:
        """Show a question and the possible answers.

        Raises:
            ValueError: the lesson has no such question.
        """
        found = self._question(question)
        return Output([said(found.asks, self._subject), _answers(found, self._subject)])

    def check(self, question: str, answer: Any) -> Checked | Output:
        """Say whether an answer is right, and why; for `...`, say how to write an answer.

        Args:
            question: its name.
            answer: a number; the position of a token or the number of an option, from 0; (row, column).

        Raises:
            ValueError: the lesson has no such question, or the answer is not a possible one.
        """
        found = self._question(question)
        wanted = found.expected(self._subject)
        if answer is ...:
            return Output([f"There is no answer yet. Write {wanted} in place of the three dots."])
        given = list(answer) if isinstance(answer, tuple) else answer
        if not found.accepts(self._subject, given):
            raise ValueError(f"{answer!r} can't be the answer: write {wanted}.")
        verdict = found.judge(self._subject, given)
        return Checked(_told(verdict), verdict.is_right)

    def show(self, step: int, case: str | float | None = None) -> Output:
        """Show what the app shows once a step's question is answered.

        Args:
            step: the step's index, from 0.
            case: the setting of its switch or dial; None for the step's own pictures.

        Raises:
            ValueError: the lesson has no such step or case.
        """
        if not 0 <= step < len(self._lesson.steps):
            raise ValueError(f"There is no step {step}: the lesson has 0 to {len(self._lesson.steps) - 1}.")
        found = self._lesson.steps[step]
        if case is None:
            return self._shown(seen(found.shown, self._subject))
        match found.contrast:
            case Contrast(_, cases) if case in cases:
                return self._shown(seen(cases[str(case)], self._subject))
            case Dial() if case in found.contrast.values(self._subject):
                return self._shown(found.contrast.shown(self._subject, float(case)))
            case Contrast(_, cases):
                there = ", ".join(map(repr, cases))
            case Dial():
                there = ", ".join(f"{value:g}" for value in found.contrast.values(self._subject))
            case _:
                there = "nothing to switch"
        raise ValueError(f"Step {step} has no {case!r}: it has {there}.")

    def _question(self, name: str) -> Question:
        if name not in self._questions:
            there = ", ".join(map(repr, self._questions)) or "none"
            raise ValueError(f"There is no question {name!r} about this sentence: there is {there}.")
        return self._questions[name]

    def _shown(self, shown: Shown) -> Output:
        text = said(shown.text, self._subject)
        return Output(
            [*([text] if text else []), *(part for p in shown.pictures for part in self._picture(p))]
        )

    def _picture(self, picture: Picture) -> list[str | go.Figure | AttentionWidget]:
        match picture:
            case Figure(draw, caption, _):
                return [draw(self._subject, palette("light")), said(caption, self._subject)]
            case Viewing(chosen, _):
                run = view_run(self._subject.run, self._subject.loaded, typed=(self._subject.text, ""))
                return [AttentionWidget(run, self._subject.text, "auto", chosen(self._subject))]
            case Training(task):
                return [
                    f"A live run of the task {task!r} is on the page Learn of the app: start `headlight`."
                ]


def lesson(name: str, model: LoadedModel, text: str) -> Lesson:
    """A lesson about a sentence: ``headlight.lesson("one-head", model, "I saw a cat.")``.

    Args:
        name: as in the address of the page Learn.
        model: from `headlight.open`.
        text: the sentence.

    Raises:
        ValueError: there is no such lesson, or it does not suit this kind of model.
        headlight.SentenceError: the sentence has no words, or is too long.
    """
    if name not in lessons():
        raise ValueError(f"There is no lesson {name!r}: choose one of {', '.join(lessons())}.")
    subject = Subject(model, run_sentence(model, text), text)
    if why := lessons()[name].unfit(subject):
        raise ValueError(why)
    return Lesson(name, subject)


def _answers(question: Question, subject: Subject) -> str:
    """The possible answers, as Markdown."""
    match question:
        case BoardQuestion():
            return _places(question, subject)
        case ChoiceQuestion():
            return "\n".join(f"- {place}: {text}" for place, text in enumerate(question.options(subject)))
        case NumberQuestion():
            return f"In {question.unit}."
    raise TypeError(type(question).__name__)


def _places(question: BoardQuestion, subject: Subject) -> str:
    """The tokens, or the rows and columns, with the positions to use in an answer."""
    rows, columns, axes = question.labels(subject)
    if not rows:
        is_open = ~np.isnan(question.board(subject))
        tokens = [[quoted(token), str(place)] for place, token in enumerate(columns) if is_open[place]]
        return table(["token", "position"], tokens)
    labels = zip_longest(map(quoted, rows), map(quoted, columns), fillvalue="")
    return table(
        ["", f"row: {axes[0]}", f"column: {axes[1]}"],
        [[str(place), *both] for place, both in enumerate(labels)],
    )


def _told(verdict: Verdict) -> list[str]:
    sign = "✓ Right." if verdict.is_right else "✕ Not quite."
    return [f"You said {verdict.given}. It is {verdict.right}.", f"**{sign}** {verdict.reason}"]
