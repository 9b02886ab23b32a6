"""The verdict on an answer: whether it is right, what it was, and what is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.pages.learn.lessons.subjects import SENTENCES, subject
from viz.pages.learn.lessons.format.questions import (
    CellQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    TokenQuestion,
)

OF = subject("toy-en-it", SENTENCES[0])


def reason(_: object) -> str:
    return "Because."


NUMBER = NumberQuestion(
    name="n", asks="?", reason=reason, answer=lambda _: -40.0, unit="nats", least=-100, most=lambda _: 100
)
CHOICE = ChoiceQuestion(
    name="c", asks="?", reason=reason, options=lambda _: ["it falls", "it rises"], answer=lambda _: 1
)
TOKENS = TokenQuestion(
    name="t",
    asks="?",
    reason=reason,
    tokens=lambda _: ["a", "`<b>`", "a", "d"],
    values=lambda _: [0.5, 0.1, 0.5, None],
    unit="w",
)
CELLS = CellQuestion(
    name="m",
    asks="?",
    reason=reason,
    rows=lambda _: ["r0", "r1"],
    columns=lambda _: ["c0", "c1", "c2"],
    axes=("query", "key"),
    values=lambda _: np.array([[1, 2, np.nan], [0, 3, 1]]),
    unit="w",
)


@pytest.mark.parametrize(
    "within, share, given, is_right",
    [
        (0, 0, -40, True),
        (0, 0, -40.001, False),
        (2, 0, -42, True),
        (2, 0, -42.01, False),
        (0, 0.1, -44, True),
        (0, 0.1, -44.1, False),
        (2, 0.1, -36, True),
        (5, 0.1, -35, True),
        (5, 0.1, 40, False),
    ],
)
def test_a_number_may_be_off_by_so_much(within: float, share: float, given: float, is_right: bool) -> None:
    question = replace(NUMBER, within=within, share=share)
    assert question.judge(OF, given).is_right is is_right


def test_a_number_is_told_with_its_unit_and_as_many_decimals_as_its_steps() -> None:
    verdict = replace(NUMBER, step=0.01).judge(OF, -3.456)
    assert (verdict.given, verdict.right, verdict.reason) == ("−3.46 nats", "−40.00 nats", "Because.")
    assert NUMBER.judge(OF, -3).given == "−3 nats"
    assert replace(NUMBER, unit="score", is_quantity=True).judge(OF, -3).given == "−3 (score)"
    assert replace(NUMBER, answer=lambda _: 1.25).judge(OF, 1).right in ("1.2 nats", "1.3 nats")


def test_a_choice_is_told_in_its_words() -> None:
    verdict = CHOICE.judge(OF, 0)
    assert (verdict.is_right, verdict.given, verdict.right) == (False, "it falls", "it rises")
    assert CHOICE.judge(OF, 1).is_right


def test_tokens_that_are_equal_are_all_right_and_are_quoted() -> None:
    assert TOKENS.right_places(OF).tolist() == [True, False, True, False]
    verdict = TOKENS.judge(OF, 1)
    assert verdict.given == "`` `<b>` `` at position 1"
    assert verdict.right == "`a` at position 0 or `a` at position 2, which are equally right"
    assert TOKENS.judge(OF, 2).is_right
    assert replace(TOKENS, best="smallest").judge(OF, 1).is_right


def test_a_difference_of_rounding_makes_no_token_right_alone() -> None:
    values = [0.5, 0.5 + 1e-8, 0.4999, None]
    assert replace(TOKENS, values=lambda _: values).right_places(OF).tolist() == [True, True, False, False]


def test_a_cell_is_told_by_its_row_and_column() -> None:
    verdict = CELLS.judge(OF, [0, 0])
    assert (verdict.is_right, verdict.given, verdict.right) == (False, "`r0`, `c0`", "`r1`, `c1`")
    assert CELLS.judge(OF, [1, 1]).is_right
    assert replace(CELLS, best="smallest").judge(OF, [1, 0]).is_right


def test_many_right_places_are_counted_and_not_listed() -> None:
    many = replace(CELLS, values=lambda _: np.array([[1, 1, np.nan], [0, 1, 1]]))
    assert many.judge(OF, [0, 1]).right == "any of 4 cells"
    tokens = replace(TOKENS, tokens=lambda _: list("abcde"), values=lambda _: [1.0] * 5)
    assert tokens.judge(OF, 4).right == "any of 5 tokens"
    few = replace(CELLS, values=lambda _: np.array([[1, 0, np.nan], [0, 1, 0]]))
    assert few.judge(OF, [0, 1]).right == "`r0`, `c0` or `r1`, `c1`, which are equally right"


@pytest.mark.parametrize("question", [NUMBER, CHOICE, TOKENS, CELLS], ids=lambda question: question.name)
def test_the_solution_says_what_is_right_and_nothing_given(question: Question) -> None:
    verdict = question.solution(OF)
    assert verdict.is_right
    assert verdict.given == ""
    assert verdict.right
    assert verdict.reason == "Because."


@pytest.mark.parametrize(
    "question, good, bad",
    [
        (NUMBER, [-100, 0, 3.5, 100], [-101, 100.1, "3", None, True, [1], float("nan")]),
        (CHOICE, [0, 1], [2, -1, 0.0, True, "0", None, [0]]),
        (TOKENS, [0, 1, 2], [3, 4, -1, 1.0, True, None, [0]]),
        (CELLS, [[0, 0], [1, 2]], [[0, 2], [2, 0], [0, 3], [-1, 0], [0], [0, 1, 2], [0.0, 1], 0, None, "01"]),
    ],
    ids=["number", "choice", "tokens", "cells"],
)
def test_what_can_be_an_answer(question: Question, good: list[Any], bad: list[Any]) -> None:
    """An answer may come from a file or an address."""
    assert all(question.accepts(OF, value) for value in good)
    assert not [value for value in bad if question.accepts(OF, value)]
