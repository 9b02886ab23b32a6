import numpy as np
import pytest

from viz.figures.decoding import next_words, step_probabilities
from viz.figures.export import numbers
from viz.theme import palette

DARK = palette("dark")


def test_next_words_mark_the_chosen_one_in_words_and_colour() -> None:
    figure = next_words(["il", "<b>", "la"], np.array([0.7, 0.2, 0.1]), chosen=1, theme=DARK)
    assert list(figure.layout.yaxis.ticktext) == ["il", "&lt;b&gt; ← chosen", "la"]
    assert list(figure.data[0].x) == pytest.approx([70, 20, 10])
    assert list(figure.data[0].marker.color) == [DARK.muted, DARK.accent, DARK.muted]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_next_words_without_the_chosen_one() -> None:
    figure = next_words(["il"], np.array([1.0]), theme=DARK)
    assert list(figure.layout.yaxis.ticktext) == ["il"]


def test_steps_are_columns_and_ranks_are_rows() -> None:
    candidates = [["il", "la"], ["cane", "gatto"], [".", "!"]]
    probabilities = np.array([[0.9, 0.05], [0.6, 0.3], [0.99, 0.01]])
    figure = step_probabilities(candidates, probabilities, ["il", "cane", "."], theme=DARK)
    trace = figure.data[0]
    assert trace.z.shape == (2, 3)
    assert trace.text[1][0] == "la"
    table = numbers(figure)
    row = table[table["text"] == "gatto"].iloc[0]
    assert row["probability (%)"] == pytest.approx(30)
    assert row["rank (label)"] == "2"
    assert row["step, with the token that was taken (label)"] == "1 cane"
