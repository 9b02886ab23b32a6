"""Relative positions in attention: the numbers drawn are those given, each with its head or pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viz.figures.dot_product import dot_product_terms
from viz.figures.relative_positions import (
    bias_by_distance,
    rotary_angles,
    rotary_products,
    rotary_wavelengths,
)
from viz.theme import palette

LIGHT = palette("light")
RNG = np.random.default_rng(8)


def test_each_head_has_its_line_of_biases() -> None:
    distances, biases = np.arange(-7, 4), RNG.normal(size=(3, 11))
    figure = bias_by_distance(distances, biases, theme=LIGHT, marked=-2)
    assert [line.name for line in figure.data] == ["head 0", "head 1", "head 2"]
    np.testing.assert_array_equal(figure.data[1].x, distances)
    np.testing.assert_allclose(figure.data[1].y, biases[1], rtol=1e-6)
    assert figure.layout.shapes[0].x0 == -2
    assert not bias_by_distance(distances, biases, theme=LIGHT).layout.shapes


def test_a_pair_that_is_turned_once_looks_as_if_not_turned() -> None:
    turns = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.25]])
    figure = rotary_angles(turns, theme=LIGHT, marked=(1, 2))
    np.testing.assert_allclose(figure.data[0].z, [[1, 1, 1], [1, -1, 0]], atol=1e-6)
    np.testing.assert_allclose(figure.data[0].customdata, turns)
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)


def test_stretched_wavelengths_stand_beside_those_first_trained() -> None:
    trained = np.array([6.0, 60.0, 600.0])
    stretched = trained * [1, 2, 4]
    figure = rotary_wavelengths(stretched, trained, 17, theme=LIGHT)
    assert [line.name for line in figure.data] == ["as the model turns", "before stretching"]
    np.testing.assert_allclose(figure.data[0].y, stretched)
    np.testing.assert_allclose(figure.data[1].y, trained)
    np.testing.assert_allclose(figure.data[1].customdata, [1, 2, 4])
    assert len(rotary_wavelengths(trained, trained, 17, theme=LIGHT).data) == 1


def test_products_rotary_products_stand_side_by_side() -> None:
    before, after = RNG.normal(size=(2, 4))
    figure = rotary_products(before, after, ["a", "<b>", "a", ""], theme=LIGHT)
    assert [bars.name for bars in figure.data[:2]] == ["before turning", "after turning"]
    np.testing.assert_allclose(figure.data[0].y, before, rtol=1e-6)
    np.testing.assert_allclose(figure.data[1].y, after, rtol=1e-6)
    assert "<b>" not in str(figure.layout.xaxis.ticktext)


@pytest.mark.parametrize("scaled", [True, False])
def test_terms_of_a_score_add_up_with_and_without_the_division(scaled: bool) -> None:
    q, k = RNG.normal(size=(2, 11))
    figure = dot_product_terms(q, k, theme=LIGHT, scale=scaled)
    divisor = math.sqrt(11) if scaled else 1
    np.testing.assert_allclose(figure.data[0].y, q * k / divisor, rtol=1e-5)
    assert figure.data[1].y[-1] == pytest.approx(float(q @ k) / divisor, rel=1e-5)
    assert ("√d_head" in figure.data[0].name) == scaled
