"""What was predicted, beside what is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.format.parts import (
    CellQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    TokenQuestion,
)
from viz.pages.learn.lessons.format.subject import Subject

Answer: TypeAlias = int | float | list[int]
"""A token or an option by its index, a number, a cell as [row, column]: as JSON has it."""
EQUAL = 1e-6
"""Values that differ by less, as a share of the largest, are equally right."""
MOST_NAMED = 3
"""Right tokens or cells that are named; more are counted."""


@dataclass(frozen=True)
class Verdict:
    """What there is to say of an answer.

    Attributes:
        is_right: whether it is.
        given: it, in words; "" where nothing was. Markdown.
        right: the right one, or all that are right. Markdown.
        reason: why. Markdown.
    """

    is_right: bool
    given: str
    right: str
    reason: str


def right_places(question: TokenQuestion | CellQuestion, subject: Subject) -> NDArray[np.bool_]:
    """Which tokens (n,) or cells (rows, columns) are right."""
    values = board_values(question, subject)
    best = np.nanmax(values) if question.best == "largest" else np.nanmin(values)
    places: NDArray[np.bool_] = np.abs(values - best) <= EQUAL * np.nanmax(np.abs(values))
    return places


def is_answer(question: Question, subject: Subject, value: Any) -> bool:
    """Whether a value, which may come from anywhere, is an answer that can be given to a question."""
    match question:
        case NumberQuestion():
            return type(value) in (int, float) and question.least <= value <= question.most(subject)
        case ChoiceQuestion():
            return type(value) is int and 0 <= value < len(question.options(subject))
        case TokenQuestion():
            values = board_values(question, subject)
            return type(value) is int and 0 <= value < len(values) and not math.isnan(values[value])
        case CellQuestion():
            values = board_values(question, subject)
            if not (isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)):
                return False
            row, column = value
            is_inside = 0 <= row < values.shape[0] and 0 <= column < values.shape[1]
            return is_inside and not math.isnan(values[row, column])
    raise TypeError(type(question).__name__)


def expected(question: Question, subject: Subject) -> str:
    """What can be answered to a question, in words."""
    match question:
        case NumberQuestion():
            return f"a number: {question.unit}"
        case ChoiceQuestion():
            return f"the number of an option, from 0 to {len(question.options(subject)) - 1}"
        case TokenQuestion():
            return "the position of one of the tokens"
        case CellQuestion():
            return "(row, column), both from 0, of a cell that is open"
    raise TypeError(type(question).__name__)


def judge(question: Question, subject: Subject, given: Answer) -> Verdict:
    """Judge an answer, of which `is_answer` is true."""
    match question:
        case NumberQuestion():
            right = question.answer(subject)
            assert isinstance(given, int | float)
            allowed = max(question.within, question.share * abs(right), 1e-9)
            is_right = abs(given - right) <= allowed
            unit = f"({question.unit})" if question.is_quantity else question.unit
            said, is_so = (f"{_plain(value, question.step)} {unit}" for value in (given, right))
        case ChoiceQuestion():
            assert isinstance(given, int)
            options, answer = question.options(subject), question.answer(subject)
            is_right, said, is_so = given == answer, options[given], options[answer]
        case TokenQuestion():
            assert isinstance(given, int)
            tokens, places = question.tokens(subject), right_places(question, subject)
            is_right = bool(places[given])
            said = _at(tokens[given], given)
            is_so = _any_of([_at(tokens[at], at) for at in np.flatnonzero(places).tolist()], "tokens")
        case CellQuestion():
            assert isinstance(given, list)
            rows, columns, places = (
                question.rows(subject),
                question.columns(subject),
                right_places(question, subject),
            )
            is_right = bool(places[given[0], given[1]])
            said, *right_cells = (
                f"{quoted(rows[row])}, {quoted(columns[column])}"
                for row, column in ((given[0], given[1]), *np.argwhere(places).tolist())
            )
            is_so = _any_of(right_cells, "cells")
        case _:
            raise TypeError(type(question).__name__)
    return Verdict(is_right, said, is_so, question.reason(subject))


def solution(question: Question, subject: Subject) -> Verdict:
    """What is right, where nothing was answered."""
    right: Answer
    match question:
        case NumberQuestion():
            right = question.answer(subject)
        case ChoiceQuestion():
            right = question.answer(subject)
        case TokenQuestion():
            right = int(right_places(question, subject).argmax())
        case CellQuestion():
            right = np.argwhere(right_places(question, subject))[0].tolist()
        case _:
            raise TypeError(type(question).__name__)
    return replace(judge(question, subject, right), given="")


def board_values(question: TokenQuestion | CellQuestion, subject: Subject) -> NDArray[np.float64]:
    """The values of the tokens (n,) or cells (rows, columns); NaN where nothing can be clicked."""
    values = question.values(subject)
    if isinstance(question, TokenQuestion):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.asarray(values, dtype=np.float64)


def _any_of(places: Sequence[str], what: str) -> str:
    """One place, or several that are equally right."""
    if len(places) > MOST_NAMED:
        return f"any of {len(places)} {what}"
    return places[0] if len(places) == 1 else f"{' or '.join(places)}, which are equally right"


def _at(token: str, place: int) -> str:
    return f"{quoted(token)} at position {place}"


def _plain(value: float, step: float) -> str:
    """A number with as many decimals as its steps have."""
    decimals = max(0, math.ceil(-math.log10(step))) if step < 1 else 0
    return number(value, decimals if decimals or float(value).is_integer() else 1)
