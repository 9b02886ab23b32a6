"""The formulas show the numbers of the run: what is written can be calculated again."""

from __future__ import annotations

import re

import numpy as np
import pytest

from viz.pages.explore.arithmetic import distance, score_formula, weight_formula


def test_score_formula_has_its_numbers() -> None:
    assert r"\frac{17.620}{\sqrt{32}} = 3.115" in score_formula(17.62, 32, 17.62 / 32**0.5)


@pytest.mark.parametrize("shift", [0.0, 40.0])
def test_weight_formula_can_be_calculated_again(shift: float) -> None:
    scores = np.array([1.0, 2.5, -0.5, 3.0], np.float32) + np.float32(shift)
    allowed = np.array([True, True, True, False])
    expected = np.exp(scores[:3]) / np.exp(scores[:3]).sum()
    formula = weight_formula(scores, allowed, 1, float(expected[1]))
    match = re.search(r"\\frac\{([\d.]+)\}\{([\d.]+)\} = ([\d.]+)", formula)
    assert match is not None
    numerator, total, weight = match.groups()
    assert float(numerator) / float(total) == pytest.approx(float(weight), abs=2e-3)
    assert float(weight) == pytest.approx(float(expected[1]), abs=5e-4)
    assert len(numerator) < 9


def test_a_closed_cell_says_so() -> None:
    scores, allowed = np.zeros(2, np.float32), np.array([True, False])
    assert "mask closes this cell" in weight_formula(scores, allowed, 1, 0.0)


@pytest.mark.parametrize(
    "offset, words",
    [
        (2, "2 positions after the query"),
        (1, "1 position after the query"),
        (0, "at the query's own position"),
        (-3, "3 positions before the query"),
    ],
)
def test_a_later_key_comes_after_the_query(offset: int, words: str) -> None:
    assert distance(offset) == words
