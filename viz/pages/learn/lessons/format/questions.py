"""Questions that a reader answers before anything is shown, and how each judges an answer.

Every right answer is computed from the reader's own run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.format.subject import Subject

Text: TypeAlias = str | Callable[[Subject], str]
"""Our own Markdown, or a function that writes it for a run; user text in it is escaped by `quoted`."""
Answer: TypeAlias = int | float | list[int]
"""The index of a token or option, a number, or a cell as [row, column]; the types that JSON has."""
EQUAL = 1e-6
"""Values that differ by less than this share of the largest are equally right."""
MOST_NAMED = 3
"""Up to this many right tokens or cells are named; more are only counted."""


@dataclass(frozen=True)
class Verdict:
    """The judgement of an answer. All texts are Markdown.

    Attributes:
        is_right: true for a right answer.
        given: the answer in words; "" if there was none.
        right: the right answer, or all right answers.
        reason: why it is right.
    """

    is_right: bool
    given: str
    right: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """A question that is answered before the picture is shown.

    Attributes:
        name: unique in the lesson; lower-case letters and dashes. Answers are stored under it.
        asks: the question.
        reason: why the right answer is right, with this run's numbers.
        pointless: why the question makes no sense for a run; empty if it does.
        instead: the question to ask in that case.
    """

    name: str
    asks: Text
    reason: Callable[[Subject], str]
    pointless: Callable[[Subject], str] = lambda _: ""
    instead: Question | None = None

    @abstractmethod
    def expected(self, subject: Subject) -> str:
        """What an answer looks like, in words."""

    @abstractmethod
    def accepts(self, subject: Subject, value: Any) -> bool:
        """True if a value, which may come from a file or an address, is a possible answer."""

    @abstractmethod
    def right_answer(self, subject: Subject) -> Answer:
        """The right answer; the first of several that are equally right."""

    @abstractmethod
    def compare(self, subject: Subject, given: Answer) -> tuple[bool, str, str]:
        """For an accepted answer: whether it is right, the answer in words, and the right one in words."""

    def judge(self, subject: Subject, given: Answer) -> Verdict:
        """Judge an accepted answer."""
        return Verdict(*self.compare(subject, given), self.reason(subject))

    def solution(self, subject: Subject) -> Verdict:
        """The right answer, for a reader who gave none."""
        return replace(self.judge(subject, self.right_answer(subject)), given="")


@dataclass(frozen=True, kw_only=True)
class BoardQuestion(Question):
    """Answered by clicking a token in a row, or a cell in a table, whose values are still hidden.

    Attributes:
        unit: unit of the values.
        best: "largest" or "smallest": which value is right; equal values are all right.
    """

    unit: str
    best: str = "largest"

    @abstractmethod
    def board(self, subject: Subject) -> NDArray[np.float64]:
        """The values, (n,) tokens or (rows, columns); NaN where nothing can be clicked."""

    @abstractmethod
    def labels(self, subject: Subject) -> tuple[Sequence[str], Sequence[str], tuple[str, str]]:
        """Row labels (none for a single row), column labels, and the names of both axes."""

    def right_places(self, subject: Subject) -> NDArray[np.bool_]:
        """The right places: (n,) or (rows, columns)."""
        values = self.board(subject)
        best = np.nanmax(values) if self.best == "largest" else np.nanmin(values)
        places: NDArray[np.bool_] = np.abs(values - best) <= EQUAL * np.nanmax(np.abs(values))
        return places


@dataclass(frozen=True, kw_only=True)
class TokenQuestion(BoardQuestion):
    """Answered by clicking one token in a row.

    Attributes:
        tokens: the tokens to choose from.
        values: one number per token, shown afterwards; None for a token that can't be chosen.
    """

    tokens: Callable[[Subject], Sequence[str]]
    values: Callable[[Subject], Sequence[float | None]]

    def board(self, subject: Subject) -> NDArray[np.float64]:
        """The values (n,)."""
        return np.array([np.nan if v is None else v for v in self.values(subject)], dtype=np.float64)

    def labels(self, subject: Subject) -> tuple[Sequence[str], Sequence[str], tuple[str, str]]:
        """The tokens, as columns."""
        return (), self.tokens(subject), ("", "token")

    def expected(self, subject: Subject) -> str:
        """A position."""
        return "the position of one of the tokens"

    def accepts(self, subject: Subject, value: Any) -> bool:
        """True for the position of a token that can be chosen."""
        values = self.board(subject)
        return type(value) is int and 0 <= value < len(values) and not math.isnan(values[value])

    def right_answer(self, subject: Subject) -> Answer:
        """The first right position."""
        return int(self.right_places(subject).argmax())

    def compare(self, subject: Subject, given: Answer) -> tuple[bool, str, str]:
        """Name tokens by their positions."""
        assert isinstance(given, int)
        tokens, places = self.tokens(subject), self.right_places(subject)
        said, *right = (
            f"{quoted(tokens[at])} at position {at}" for at in (given, *np.flatnonzero(places).tolist())
        )
        return bool(places[given]), said, _any_of(right, "tokens")


@dataclass(frozen=True, kw_only=True)
class CellQuestion(BoardQuestion):
    """Answered by clicking one cell of a matrix that is still empty.

    Attributes:
        rows, columns: the labels.
        axes: names of rows and columns, such as ("query", "key").
        values: (rows, columns), shown afterwards; NaN where nothing can be clicked.
    """

    rows: Callable[[Subject], Sequence[str]]
    columns: Callable[[Subject], Sequence[str]]
    axes: tuple[str, str]
    values: Callable[[Subject], NDArray[np.floating[Any]]]

    def board(self, subject: Subject) -> NDArray[np.float64]:
        """The values (rows, columns)."""
        return np.asarray(self.values(subject), dtype=np.float64)

    def labels(self, subject: Subject) -> tuple[Sequence[str], Sequence[str], tuple[str, str]]:
        """Rows, columns and axes."""
        return self.rows(subject), self.columns(subject), self.axes

    def expected(self, subject: Subject) -> str:
        """A row and a column."""
        return "(row, column), both from 0, of a cell that is open"

    def accepts(self, subject: Subject, value: Any) -> bool:
        """True for [row, column] of an open cell."""
        values = self.board(subject)
        if not (isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)):
            return False
        row, column = value
        is_inside = 0 <= row < values.shape[0] and 0 <= column < values.shape[1]
        return is_inside and not math.isnan(values[row, column])

    def right_answer(self, subject: Subject) -> Answer:
        """The first right cell."""
        cell: list[int] = np.argwhere(self.right_places(subject))[0].tolist()
        return cell

    def compare(self, subject: Subject, given: Answer) -> tuple[bool, str, str]:
        """Name cells by their row and column."""
        assert isinstance(given, list)
        rows, columns, places = self.rows(subject), self.columns(subject), self.right_places(subject)
        said, *right = (
            f"{quoted(rows[row])}, {quoted(columns[column])}"
            for row, column in (given, *np.argwhere(places).tolist())
        )
        return bool(places[given[0], given[1]]), said, _any_of(right, "cells")


@dataclass(frozen=True, kw_only=True)
class NumberQuestion(Question):
    """Answered by a number.

    Attributes:
        answer: the right one.
        unit: what is counted or measured.
        is_quantity: true if `unit` names the number itself, as "score" does; "tokens" says what is counted.
        least, most: the accepted range.
        step: 1 for whole numbers.
        within: how far off a right answer may be.
        share: the same, as a share of the right answer; the larger of the two applies.
    """

    answer: Callable[[Subject], float]
    unit: str
    least: float = 0
    most: Callable[[Subject], float]
    step: float = 1.0
    within: float = 0.0
    share: float = 0.0
    is_quantity: bool = False

    def expected(self, subject: Subject) -> str:
        """A number and its unit."""
        return f"a number: {self.unit}"

    def accepts(self, subject: Subject, value: Any) -> bool:
        """True for a number in range."""
        return type(value) in (int, float) and self.least <= value <= self.most(subject)

    def right_answer(self, subject: Subject) -> Answer:
        """The number."""
        return self.answer(subject)

    def compare(self, subject: Subject, given: Answer) -> tuple[bool, str, str]:
        """Write both with as many decimals as the step has."""
        assert isinstance(given, int | float)
        right = self.answer(subject)
        allowed = max(self.within, self.share * abs(right), 1e-9)
        unit = f"({self.unit})" if self.is_quantity else self.unit
        said, is_so = (f"{_plain(value, self.step)} {unit}" for value in (given, right))
        return abs(given - right) <= allowed, said, is_so


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestion(Question):
    """Answered by choosing an option.

    Attributes:
        options: what can be chosen.
        answer: the index of the right one.
    """

    options: Callable[[Subject], Sequence[str]]
    answer: Callable[[Subject], int]

    def expected(self, subject: Subject) -> str:
        """An index."""
        return f"the number of an option, from 0 to {len(self.options(subject)) - 1}"

    def accepts(self, subject: Subject, value: Any) -> bool:
        """True for the index of an option."""
        return type(value) is int and 0 <= value < len(self.options(subject))

    def right_answer(self, subject: Subject) -> Answer:
        """The index."""
        return self.answer(subject)

    def compare(self, subject: Subject, given: Answer) -> tuple[bool, str, str]:
        """Quote both options."""
        assert isinstance(given, int)
        options, right = self.options(subject), self.answer(subject)
        return given == right, options[given], options[right]


def said(text: Text, subject: Subject) -> str:
    """The Markdown of a text for a subject."""
    return text if isinstance(text, str) else text(subject)


def asked(question: Question | None, subject: Subject) -> tuple[Question | None, list[str]]:
    """The first question that makes sense for a subject, and why those before it don't."""
    reasons = []
    while question is not None and (why := question.pointless(subject)):
        reasons.append(why)
        question = question.instead
    return question, reasons


def _any_of(places: Sequence[str], what: str) -> str:
    """Name the right place, or all that are equally right."""
    if len(places) > MOST_NAMED:
        return f"any of {len(places)} {what}"
    return places[0] if len(places) == 1 else f"{' or '.join(places)}, which are equally right"


def _plain(value: float, step: float) -> str:
    """A number with as many decimals as its steps have."""
    decimals = max(0, math.ceil(-math.log10(step))) if step < 1 else 0
    return number(value, decimals if decimals or float(value).is_integer() else 1)
