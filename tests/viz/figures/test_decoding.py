"""The figures of decoding: next-token probabilities, and two targets token by token."""

from __future__ import annotations

import numpy as np
import pytest

from viz.figures.decoding import (
    ScoredTokens,
    next_words,
    reliability,
    step_probabilities,
    token_by_token,
    word_confidence,
)
from viz.figures.export import number_table
from viz.theme import PALETTES, Theme, palette

GIVEN = ScoredTokens(["<b>il", "gatto", "<eos>"], np.array([-0.1, -2.5, -0.3]), np.array([0.5, 1.5, 0.2]))
FREE = ScoredTokens(["<b>il", "cane"], np.array([-0.1, -0.2]), np.array([0.5, 1.5]))
DARK = palette("dark")
TARGETS = {"given": GIVEN, "free": FREE}


def test_both_quantities_of_both_targets_step_by_step() -> None:
    figure = token_by_token(TARGETS, parting=1, theme=palette("light"))
    drawn = [(trace.name, trace.yaxis, trace.showlegend) for trace in figure.data]
    assert drawn == [("given", "y", True), ("given", "y2", False), ("free", "y", True), ("free", "y2", False)]
    np.testing.assert_allclose(figure.data[0].y, GIVEN.log_probabilities, rtol=1e-6)
    np.testing.assert_allclose(figure.data[3].y, FREE.entropies, rtol=1e-6)
    assert figure.data[2].x.tolist() == [0, 1]
    assert "nats" in figure.layout.yaxis.title.text
    assert "bits" in figure.layout.yaxis2.title.text
    assert list(figure.layout.xaxis2.ticktext) == [
        "0 &lt;b&gt;il",
        "1 gatto | cane",
        "2 &lt;eos&gt; | –",
    ]
    assert figure.layout.xaxis2.tickangle == -90


def test_tokens_reach_the_csv_as_they_are() -> None:
    table = number_table(token_by_token(TARGETS, parting=None, theme=palette("light")))
    assert table["text"].tolist()[:3] == ["<b>il", "gatto", "<eos>"]
    assert len(table) == 2 * (3 + 2)


@pytest.mark.parametrize("theme", PALETTES.values(), ids=lambda theme: theme.name)
def test_a_line_stands_where_they_part(theme: Theme) -> None:
    figure = token_by_token(TARGETS, parting=1, theme=theme)
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(1, 1)}
    assert [note.text for note in figure.layout.annotations] == ["they part"]
    assert not token_by_token(TARGETS, parting=None, theme=theme).layout.shapes


def test_the_two_lines_differ_without_colour() -> None:
    given, _, free, _ = token_by_token(TARGETS, parting=None, theme=palette("dark")).data
    assert given.line.dash != free.line.dash
    assert given.marker.symbol != free.marker.symbol


def test_long_targets_label_every_nth_step() -> None:
    long = ScoredTokens([str(i) for i in range(100)], -np.ones(100), np.ones(100))
    ticks = token_by_token({"given": long, "free": long}, parting=None, theme=palette("light")).layout.xaxis2
    assert len(ticks.tickvals) == len(ticks.ticktext) <= 25


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
    table = number_table(figure)
    row = table[table["text"] == "gatto"].iloc[0]
    assert row["probability (%)"] == pytest.approx(30)
    assert row["rank (label)"] == "2"
    assert row["step, with the token that was taken (label)"] == "1 cane"


def test_words_that_are_new_have_a_star_and_those_below_the_line_another_colour() -> None:
    figure = word_confidence(["il", "<b>razzitto</b>"], [0.9, 0.2], [False, True], theme=DARK)
    (bars,) = figure.data
    assert bars.x.tolist() == pytest.approx([90, 20])
    assert list(figure.layout.yaxis.ticktext) == ["il", "&lt;b&gt;razzitto&lt;/b&gt; ✱"]
    assert bars.marker.color == (DARK.accent, DARK.warning)
    assert figure.layout.xaxis.title.text == "probability of being right (%)"


def test_a_reliability_diagram_has_its_diagonal_and_a_point_a_bin() -> None:
    bins = np.array([[0.25, 0.3, 40], [0.9, 0.8, 60]])
    figure = reliability({"words": bins, "translations": bins}, theme=DARK)
    diagonal, words, translations = figure.data
    assert list(diagonal.x) == list(diagonal.y) == [0, 100]
    assert words.x.tolist() == pytest.approx([25, 90])
    assert words.y.tolist() == pytest.approx([30, 80])
    assert words.marker.symbol != translations.marker.symbol, "not by colour alone"
