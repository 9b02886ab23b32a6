import json

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.typing import NDArray

from viz.figures._closed import hatching
from viz.figures._tiles import MAX_CELLS, Tiles, block_size, pool, pool_closed, pool_labels
from viz.figures.attention import (
    attention_grid,
    attention_heatmap,
    quantity_of,
    side_by_side,
)
from viz.figures.labels import DECORATION
from viz.theme import palette

LIGHT = palette("light")
QUERIES = ["<bos>", "il", "cane", "il", "."]
KEYS = ["the", "dog", "sees", "the", "cat", ".", "<eos>"]
FUTURE = "future: the key comes after the query"


def random_weights(*shape: int) -> NDArray[np.float32]:
    values = np.random.default_rng(5).random(shape, dtype=np.float32)
    return values / values.sum(-1, keepdims=True)


def future(length: int) -> dict[str, NDArray[np.bool_]]:
    return {FUTURE: ~np.tril(np.ones((length, length), dtype=bool))}


def drawn(figure: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in figure.data if trace.meta != DECORATION]


def test_rows_are_queries_and_columns_are_keys() -> None:
    values = random_weights(5, 7)
    figure = attention_heatmap(values, QUERIES, KEYS, theme=LIGHT)
    (trace,) = drawn(figure)
    np.testing.assert_array_equal(trace.z, values)
    assert list(figure.layout.yaxis.ticktext) == ["0 &lt;bos&gt;", "1 il", "2 cane", "3 il", "4 ."]
    assert list(figure.layout.xaxis.ticktext)[6] == "6 &lt;eos&gt;"
    assert list(figure.layout.xaxis.tickvals) == list(range(7))
    assert "query" in figure.layout.yaxis2.title.text
    assert "key" in figure.layout.xaxis2.title.text
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_swapped_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="7 query tokens and 5 key tokens"):
        attention_heatmap(random_weights(5, 7), KEYS, QUERIES, theme=LIGHT)


def test_closed_cells_are_empty_grey_hatched_and_named() -> None:
    figure = attention_heatmap(random_weights(5, 5), QUERIES, QUERIES, theme=LIGHT, closed=future(5))
    weights = drawn(figure)[0]
    assert np.isnan(weights.z[1, 2])
    assert not np.isnan(weights.z[2, 1])
    masked = next(trace for trace in figure.data if trace.name == f"masked: {FUTURE}")
    assert FUTURE in masked.hovertemplate
    np.testing.assert_array_equal(np.isfinite(masked.z), future(5)[FUTURE])
    assert masked.colorscale[0][1] == LIGHT.masked


def test_a_cell_closed_twice_is_named_by_the_first_reason() -> None:
    both = np.zeros((5, 7), dtype=bool)
    both[:, 6] = True
    figure = attention_heatmap(
        random_weights(5, 7), QUERIES, KEYS, theme=LIGHT, closed={"padding": both, "other": both}
    )
    names = [trace.name for trace in figure.data if trace.name and trace.name.startswith("masked")]
    assert names == ["masked: padding"]


def test_closed_cells_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="marks"):
        attention_heatmap(random_weights(5, 7), QUERIES, KEYS, theme=LIGHT, closed=future(5))


def test_weights_and_scores_have_their_own_scales() -> None:
    weights = drawn(attention_heatmap(random_weights(5, 7), QUERIES, KEYS, theme=LIGHT))[0]
    quantity = quantity_of("scores")
    figure = attention_heatmap(-3 * random_weights(5, 7), QUERIES, KEYS, theme=LIGHT, quantity=quantity)
    scores = drawn(figure)[0]
    assert weights.zmin == 0
    assert scores.zmin == -scores.zmax < 0
    assert scores.colorscale[0][1] == LIGHT.diverging[0]
    assert weights.colorbar.title.text != scores.colorbar.title.text


def test_infinite_and_missing_scores_are_drawn_as_nothing() -> None:
    values = np.array([[-np.inf, 1.5], [np.nan, -0.5]])
    figure = attention_heatmap(values, ["a", "b"], ["a", "b"], theme=LIGHT, quantity=quantity_of("masked"))
    (trace,) = drawn(figure)
    np.testing.assert_array_equal(trace.z, np.array([[np.nan, 1.5], [np.nan, -0.5]]))
    assert trace.zmax == 1.5


def test_all_missing_still_draws() -> None:
    (trace,) = drawn(attention_heatmap(np.full((2, 2), np.nan), ["a", "b"], ["a", "b"], theme=LIGHT))
    assert trace.zmax > trace.zmin


def test_numbers_stand_in_the_cells_of_a_short_sentence_only() -> None:
    short = drawn(attention_heatmap(random_weights(5, 7), QUERIES, KEYS, theme=LIGHT))[0]
    long = drawn(attention_heatmap(random_weights(64, 64), ["a"] * 64, ["a"] * 64, theme=LIGHT))[0]
    assert short.texttemplate == "%{text}"
    np.testing.assert_allclose(short.text.astype(float), short.z, atol=0.005)
    assert long.texttemplate is None


def test_one_token() -> None:
    figure = attention_heatmap(np.ones((1, 1)), ["hi"], ["hi"], theme=LIGHT, closed=future(1))
    assert drawn(figure)[0].z[0, 0] == 1


def test_long_heatmap_travels_as_typed_arrays() -> None:
    tokens = [f"word{position}" for position in range(512)]
    figure = attention_heatmap(random_weights(512, 512), tokens, tokens, theme=LIGHT, closed=future(512))
    assert len(figure.to_json()) < 4_000_000
    assert "bdata" in json.loads(figure.to_json())["data"][0]["z"]


def test_tokens_cannot_write_html() -> None:
    nasty = ["<img src=x onerror=alert(1)>", "\u202e", "", "&lt;", "%{z}"]
    text = attention_heatmap(random_weights(5, 5), nasty, nasty, theme=LIGHT).to_json()
    assert "<img" not in text.encode().decode("unicode_escape")
    assert all("%{z}" not in (trace.hovertemplate or "")[:24] for trace in go.Figure(json.loads(text)).data)


def test_grid_is_one_heatmap_with_a_tile_for_each_layer_and_head() -> None:
    values = random_weights(2, 3, 5, 7)
    figure = attention_grid(values, QUERIES, KEYS, theme=LIGHT)
    (trace,) = drawn(figure)
    columns, rows = list(figure.layout.xaxis.ticktext), list(figure.layout.yaxis.ticktext)
    for layer in range(2):
        for head in range(3):
            row = rows.index(f"layer {layer}, query: 0 &lt;bos&gt;")
            column = columns.index(f"head {head}, key: 0 the")
            np.testing.assert_array_equal(trace.z[row : row + 5, column : column + 7], values[layer, head])
    assert np.isfinite(trace.z).sum() == values.size
    assert list(figure.layout.xaxis2.ticktext) == ["0", "1", "2"]
    assert list(figure.layout.yaxis2.ticktext) == ["0", "1"]


def test_grid_of_long_sentences_is_pooled_to_what_a_screen_shows() -> None:
    tokens = [f"word{position}" for position in range(512)]
    values = np.zeros((6, 8, 512, 512), dtype=np.float32)
    values[5, 7, 511, 3] = 0.75
    figure = attention_grid(values, tokens, tokens, theme=LIGHT, closed=future(512))
    (trace,) = drawn(figure)
    assert np.isfinite(trace.z).sum() <= MAX_CELLS
    assert np.nanmax(trace.z) == 0.75
    assert len(figure.to_json()) < 1_500_000
    assert any("…" in label for label in figure.layout.xaxis.ticktext)


def test_heads_of_a_layer_stand_under_their_headings_in_reading_order() -> None:
    values = random_weights(6, 5, 7)
    figure = side_by_side(values, QUERIES, KEYS, theme=LIGHT, columns=4)
    assert [annotation.text for annotation in figure.layout.annotations] == [
        f"<b>head {head}</b>" for head in range(6)
    ]
    sixth = figure.layout.annotations[5]
    row, column = round(sixth.y + 0.5), round(sixth.x + 0.5)
    np.testing.assert_array_equal(drawn(figure)[0].z[row : row + 5, column : column + 7], values[5])


def test_compared_models_share_one_color_range() -> None:
    trained, random = random_weights(5, 7), random_weights(5, 7)[::-1] / 9
    figure = side_by_side(
        np.stack([trained, random]), QUERIES, KEYS, theme=LIGHT, headings=("trained", "random")
    )
    (trace,) = drawn(figure)
    assert trace.zmax >= trained.max()
    assert np.isfinite(trace.z).sum() == 70
    assert "random" in figure.layout.annotations[1].text


def test_wrong_number_of_headings() -> None:
    with pytest.raises(ValueError, match="2 headings for 3 matrices"):
        side_by_side(random_weights(3, 5, 7), QUERIES, KEYS, theme=LIGHT, headings=["a", "b"])


def test_pool_keeps_the_value_farthest_from_zero() -> None:
    values = np.array([[0.1, -0.9, 0.2], [0.3, np.nan, np.nan], [np.nan, np.nan, -0.4]], dtype=np.float32)
    np.testing.assert_array_equal(pool(values, 2), np.array([[-0.9, 0.2], [np.nan, -0.4]], dtype=np.float32))
    assert pool(values, 1) is values


def test_pooled_block_is_closed_only_where_all_its_cells_are() -> None:
    pooled = pool_closed(future(4), 2)
    np.testing.assert_array_equal(pooled[FUTURE], np.array([[False, True], [False, False]]))


def test_pooled_labels_name_the_ends_of_a_block() -> None:
    assert pool_labels(["a", "b", "c", "d", "e"], 2) == ["a … b", "c … d", "e"]
    assert pool_labels(["a", "b"], 1) == ["a", "b"]


def test_block_size_respects_the_budget() -> None:
    assert block_size(1, 64, 64) == 1
    side = block_size(48, 512, 512)
    assert 48 * (512 // side) ** 2 <= MAX_CELLS


def test_tiles_leave_gaps_between_them() -> None:
    tiles = Tiles(rows=2, columns=2, queries=3, keys=2, gap_rows=1, gap_columns=1)
    sheet = tiles.assemble([np.full((3, 2), number, dtype=np.float32) for number in range(3)])
    assert sheet.shape == (8, 5)
    assert np.isnan(sheet[[0, 4]]).all()
    assert np.isnan(sheet[:, 2]).all()
    assert (sheet[5:, :2] == 2).all()
    assert np.isnan(sheet[5:, 3:]).all()


def test_hatching_crosses_closed_cells_only() -> None:
    closed = future(6)[FUTURE]
    lines = hatching(closed, LIGHT)
    x, y = np.asarray(lines.x), np.asarray(lines.y)
    segments = np.flatnonzero(np.isnan(x))
    assert len(segments) == 5
    for end in segments:
        middle_row, middle_column = (y[end - 2] + 0.5), (x[end - 2] + 0.5)
        assert closed[int(middle_row), int(middle_column)]
