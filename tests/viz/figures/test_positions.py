import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import positions
from viz.figures.export import number_table
from viz.theme import palette

LIGHT = palette("light")
LENGTH, WIDTH = 13, 22
ANGLES = np.arange(LENGTH)[:, None] / 10_000 ** (np.arange(0, WIDTH, 2) / WIDTH)
ENCODING = np.stack([np.sin(ANGLES), np.cos(ANGLES)], axis=-1).reshape(LENGTH, WIDTH)


def test_curves_draw_the_chosen_dimensions() -> None:
    figure = positions.encoding_curves(ENCODING, [0, 7], theme=LIGHT, marked=3)
    assert [trace.name for trace in figure.data] == ["dimension 0", "dimension 7"]
    np.testing.assert_allclose(figure.data[1].y, ENCODING[:, 7], atol=1e-6)
    assert figure.layout.shapes[0].x0 == 3


def test_map_has_positions_in_rows_from_the_top() -> None:
    figure = positions.encoding_map(ENCODING, theme=LIGHT)
    np.testing.assert_allclose(figure.data[0].z, ENCODING, atol=1e-6)
    assert figure.layout.yaxis.autorange == "reversed"
    assert "dimension" in figure.layout.xaxis.title.text
    assert figure.data[0].zmin == -figure.data[0].zmax


def test_sinusoidal_similarity_depends_on_the_offset_alone() -> None:
    table = number_table(positions.similarity_by_offset(ENCODING, theme=LIGHT))
    column = "cosine similarity (1: the same direction)"
    values = {name: part[column].to_numpy() for name, part in table.groupby("trace")}
    np.testing.assert_allclose(values["all pairs: least"], values["all pairs: most"], atol=1e-6)
    expected = [np.cos(ANGLES[offset]).mean() for offset in range(LENGTH)]
    np.testing.assert_allclose(values["all pairs: mean"], expected, atol=1e-6)


def test_learned_similarity_has_a_band() -> None:
    random = np.random.default_rng(2).normal(size=(7, 3))
    table = number_table(positions.similarity_by_offset(random, theme=LIGHT))
    parts = {name: part.iloc[:, 2].to_numpy() for name, part in table.groupby("trace")}
    assert (parts["all pairs: least"] <= parts["all pairs: mean"] + 1e-6).all()
    assert parts["all pairs: most"][1] - parts["all pairs: least"][1] > 0.1


def test_similarity_matrix_is_the_cosine() -> None:
    random = np.random.default_rng(3).normal(size=(5, 11))
    random[4] = 0
    z = positions.position_similarity(random, theme=LIGHT).data[0].z
    np.testing.assert_allclose(np.diagonal(z), [1, 1, 1, 1, 0], atol=1e-6)
    expected = random[1] @ random[2] / np.linalg.norm(random[1]) / np.linalg.norm(random[2])
    assert z[1, 2] == pytest.approx(expected, abs=1e-6)


def test_wavelengths_are_on_a_logarithmic_scale_with_the_length_marked_on_it() -> None:
    lengths = 2 * np.pi * 10_000 ** (np.arange(0, WIDTH, 2) / WIDTH)
    figure = positions.wavelengths(lengths, LENGTH, theme=LIGHT)
    np.testing.assert_allclose(figure.data[0].y, lengths, rtol=1e-6)
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].y0 == LENGTH
    assert figure.layout.annotations[0].y == pytest.approx(np.log10(LENGTH))
    assert figure.data[0].customdata[0][0] == pytest.approx(LENGTH / (2 * np.pi))


def test_norms_stand_side_by_side_for_each_token() -> None:
    figure = positions.embedding_vs_position_norms(
        np.array([3.0, 4.0]), np.array([1.0, 2.0]), ["<b>", "a"], theme=LIGHT
    )
    assert figure.layout.barmode == "group"
    assert [list(trace.y) for trace in figure.data] == [[3, 4], [1, 2]]
    assert list(figure.layout.xaxis.ticktext) == ["0 &lt;b&gt;", "1 a"]
    assert figure.data[1].marker.pattern.shape == "/"


@pytest.mark.parametrize("length", [1, 512])
def test_shortest_and_longest(length: int) -> None:
    encoding = np.random.default_rng(4).normal(size=(length, 6))
    figures: list[go.Figure] = [
        positions.encoding_curves(encoding, [0], theme=LIGHT),
        positions.encoding_map(encoding, theme=LIGHT),
        positions.similarity_by_offset(encoding, theme=LIGHT),
        positions.position_similarity(encoding, theme=LIGHT),
        positions.embedding_vs_position_norms(encoding[:, 0], encoding[:, 1], ["a"] * length, theme=LIGHT),
    ]
    for figure in figures:
        assert len(figure.to_json()) < 1_700_000
        assert len(number_table(figure)) >= length
