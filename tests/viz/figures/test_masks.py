import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures.export import number_table
from viz.figures.masks import batch_layout, mask_matrix, softmax_with_without
from viz.theme import palette

LIGHT = palette("light")
FUTURE = ~np.tril(np.ones((5, 5), dtype=bool))
PADDING = np.zeros((5, 5), dtype=bool)
PADDING[:, 4] = True
TOKENS = ["<bos>", "il", "cane", ".", "<pad>"]
CLOSED = {
    "future and padding": FUTURE & PADDING,
    "future": FUTURE,
    "padding of sentence 2": PADDING,
}


def test_mask_matrix_draws_open_cells_and_names_each_reason() -> None:
    figure = mask_matrix(CLOSED, TOKENS, TOKENS, theme=LIGHT)
    np.testing.assert_array_equal(np.isfinite(figure.data[0].z), ~(FUTURE | PADDING))
    reasons = {trace.name: trace for trace in figure.data if trace.name and trace.name.startswith("masked")}
    assert set(reasons) == {"masked: future and padding", "masked: future", "masked: padding of sentence 2"}
    np.testing.assert_array_equal(np.isfinite(reasons["masked: future"].z), FUTURE & ~PADDING)
    assert np.isfinite(reasons["masked: padding of sentence 2"].z).sum() == 1
    assert "padding of sentence 2" in reasons["masked: padding of sentence 2"].hovertemplate
    assert len(number_table(figure)) == (~(FUTURE | PADDING)).sum()


def test_open_mask_has_no_closed_cells() -> None:
    figure = mask_matrix({}, TOKENS, TOKENS[:3], theme=LIGHT)
    assert np.isfinite(figure.data[0].z).all()
    assert figure.data[0].z.shape == (5, 3)


def test_batch_layout_shows_tokens_literally_and_hatches_padding() -> None:
    padding = np.array([[False, False], [False, True]])
    figure = batch_layout([["<b>", "a"], ["b", "<pad>"]], padding, theme=LIGHT)
    assert figure.data[0].text[0][0] == "&lt;b&gt;"
    np.testing.assert_array_equal(np.isfinite(figure.data[0].z), ~padding)
    assert list(figure.layout.yaxis.ticktext) == ["sentence 1", "sentence 2"]
    assert number_table(figure)["text"].tolist() == ["<b>", "a", "b"]


def test_tokens_of_a_batch_are_written_whole_unless_there_are_very_many() -> None:
    def layout(length: int) -> go.Figure:
        padding = np.zeros((2, length), bool)
        padding[1, 5:] = True
        return batch_layout([["▁Extraordinary", *["<a>"] * (length - 1)]] * 2, padding, theme=LIGHT)

    short, long, longest = layout(7), layout(20), layout(40)
    for length, figure in ((7, short), (20, long)):
        [bars] = figure.select_traces({"type": "bar"})
        written = dict(zip(zip(bars.x, bars.base + 0.5, strict=True), bars.text, strict=True))
        assert len(written) == length + 5
        assert (bars.textangle, bars.constraintext) == (None, "none"), (
            "turned where there is no room, not cut"
        )
        assert (written[0, 1], written[4, 1]) == ("▁Extraordinary", "&lt;a&gt;")
    assert short.layout.height == long.layout.height > longest.layout.height
    assert not list(longest.select_traces({"type": "bar"}))
    for figure in (short, long, longest):
        assert number_table(figure)["text"][0] == "▁Extraordinary"


def test_softmax_with_and_without_shows_all_four_stages() -> None:
    scores = np.array([0.5, -1.0, 2.0, 0.0, 3.0])
    without = np.exp(scores) / np.exp(scores).sum()
    shut = {reason: where[2] for reason, where in CLOSED.items()}
    opened = ~(FUTURE | PADDING)[2]
    with_mask = np.where(opened, np.exp(scores), 0) / np.exp(scores[opened]).sum()
    figure = softmax_with_without(scores, with_mask, without, shut, TOKENS, theme=LIGHT)
    stages = {trace.name: trace for trace in figure.data}
    np.testing.assert_allclose(stages["score before the mask"].y, scores)
    np.testing.assert_allclose(stages["score after the mask"].y, np.where(opened, scores, np.nan))
    np.testing.assert_allclose(stages["softmax with the mask"].y, with_mask, rtol=1e-6)
    np.testing.assert_allclose(stages["softmax without the mask"].y, without, rtol=1e-6)
    assert list(stages["masked: future"].x) == [3, 4]
    assert set(stages["masked: future"].text) == {"−∞"}
    assert "key: the token that is looked at" in number_table(figure).columns


@pytest.mark.parametrize("keys", [1, 512])
def test_shortest_and_longest_row(keys: int) -> None:
    scores = np.linspace(-1, 1, keys)
    figure = softmax_with_without(scores, scores, scores, {}, ["a"] * keys, theme=LIGHT)
    assert len(figure.data[0].y) == keys
    assert len(figure.layout.xaxis3.tickvals) <= 40
    assert len(figure.to_json()) < 100_000
