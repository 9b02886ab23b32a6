"""The figures of the lessons: softmax for different divisors, a bar per token, and a map of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from viz.figures.bars import token_bars
from viz.figures.embeddings import embedding_map
from viz.figures.export import number_table
from viz.figures.scale import softmax_by_divisor
from viz.theme import palette

LIGHT = palette("light")
HOSTILE = ["a", "<b>x</b>", "\u202eabc", "a"]


def test_the_weights_of_the_chosen_divisor_and_the_largest_of_all() -> None:
    products = np.array([3.0, -2.0, 1.0, 0.5], dtype=np.float32)
    divisors = [0.5, 2.0, 4.0]
    bars, largest, slope = softmax_by_divisor(products, divisors, 2.0, HOSTILE, theme=LIGHT).data
    weights = [np.exp(products / d) / np.exp(products / d).sum() for d in divisors]
    np.testing.assert_allclose(bars.y, weights[1], rtol=1e-6)
    np.testing.assert_array_equal(bars.x, range(4))
    assert list(largest.x) == divisors
    np.testing.assert_allclose(largest.y, [w.max() for w in weights], rtol=1e-6)
    np.testing.assert_allclose(slope.y, [w.max() * (1 - w.max()) for w in weights], rtol=1e-5)


def test_the_divisor_on_the_dial_is_marked_and_large_products_do_not_overflow() -> None:
    figure = softmax_by_divisor(np.array([9e4, -9e4]), [1.0, 8.0], 8.0, ["a", "b"], theme=LIGHT)
    assert [shape.x0 for shape in figure.layout.shapes] == [8.0]
    assert all(np.isfinite(trace.y).all() for trace in figure.data)
    assert figure.layout.xaxis.title.text.startswith("key")
    assert figure.layout.xaxis2.type == "log"


def test_each_token_has_its_bar_with_its_position() -> None:
    figure = token_bars(np.array([0.1, 0.2, np.nan, -0.4]), HOSTILE, theme=LIGHT, quantity="cosine")
    bars, _ = figure.data  # the second trace draws the axis labels
    np.testing.assert_allclose(bars.y, [0.1, 0.2, np.nan, -0.4], rtol=1e-6)
    np.testing.assert_array_equal(bars.x, range(4))
    shown = ["a", "&lt;b&gt;x&lt;/b&gt;", "⟨U+202E⟩abc", "a"]
    assert list(figure.layout.xaxis2.ticktext) == shown
    assert list(figure.layout.xaxis.ticktext) == [f"{at} {token}" for at, token in enumerate(shown)]
    assert figure.layout.yaxis.title.text == "cosine"
    assert len(number_table(figure)) == 3, "a gap has no row"


def test_a_map_keeps_the_distances_of_a_plane() -> None:
    """Vectors in a plane of a higher-dimensional space keep their distances on the map."""
    rng = np.random.default_rng(3)
    flat = rng.normal(size=(7, 2)) * (5, 1)
    basis, _ = np.linalg.qr(rng.normal(size=(11, 2)))
    vectors = flat @ basis.T + rng.normal(size=11)
    own, others = embedding_map(vectors, [f"t{i}" for i in range(7)], n_marked=4, theme=LIGHT).data
    assert (len(own.x), len(others.x)) == (4, 3)
    points = np.stack([np.concatenate((own.x, others.x)), np.concatenate((own.y, others.y))], axis=1)
    distances, expected = (
        np.linalg.norm(p[:, None] - p[None], axis=-1) for p in (points.astype(np.float64), flat)
    )
    np.testing.assert_allclose(distances, expected, atol=1e-4)
    assert points[:, 0].std() > points[:, 1].std(), "the first direction is that of the largest differences"


def test_the_map_tells_how_much_of_the_variance_it_shows() -> None:
    vectors = np.diag([3.0, 2.0, 1.0])
    vectors = np.concatenate((vectors, -vectors))
    figure = embedding_map(vectors, list("abcdef"), n_marked=6, theme=LIGHT)
    assert "64% of the variance" in figure.layout.xaxis.title.text, "9 of 14"
    assert "29% of the variance" in figure.layout.yaxis.title.text, "4 of 14"


@pytest.mark.parametrize("vectors", [np.ones((1, 5)), np.zeros((3, 4)), np.ones((2, 1))])
def test_a_map_of_too_few_or_equal_vectors_is_drawn(vectors: np.ndarray) -> None:
    figure = embedding_map(vectors, HOSTILE[: len(vectors)], n_marked=1, theme=LIGHT)
    assert all(np.isfinite(trace.x).all() for trace in figure.data)


def test_tokens_on_a_map_are_escaped() -> None:
    figure = embedding_map(np.eye(4), HOSTILE, n_marked=2, theme=LIGHT)
    assert [text for trace in figure.data for text in trace.text] == [
        "a", "&lt;b&gt;x&lt;/b&gt;", "⟨U+202E⟩abc", "a",
    ]  # fmt: skip
