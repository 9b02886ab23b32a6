"""Bars of signed numbers: each number is where no label can cover it, and files have every value once."""

from __future__ import annotations

import numpy as np

from viz.figures.export import number_table
from viz.figures.sums import term_bars
from viz.theme import palette

VALUES = np.array([1.25, -2.5, 0.0])


def test_numbers_are_to_the_right_of_their_bars_and_of_the_axis() -> None:
    figure = term_bars(VALUES, ["a", "b", "c"], theme=palette("light"), quantity="part", axis="term")
    bars, numbers = figure.data
    assert list(bars.x) == list(VALUES)
    assert list(numbers.x) == [1.25, 0.0, 0.0]
    assert list(numbers.y) == list(bars.y)
    assert [text.strip() for text in numbers.text] == ["1.25", "−2.50", "0.00"]
    assert numbers.textposition == "middle right"
    low, high = figure.layout.xaxis.range
    assert low < VALUES.min() < VALUES.max() < high
    table = number_table(figure)
    assert len(table) == len(VALUES), "the numbers repeat the bars"
