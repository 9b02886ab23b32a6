import html

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.figures.labels import MAX_LABEL, MAX_TICKS, axis_title, escape, numbered, pixels, set_ticks


@pytest.mark.parametrize(
    "token, shown",
    [
        ("raccoon", "raccoon"),
        ("<script>", "&lt;script&gt;"),
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"),
        ("&lt;", "&amp;lt;"),
        ("\x1b", "␛"),
        ("\t", "␉"),
        ("\n", "␊"),
        ("\x7f", "␡"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("\u00a0", "⟨U+00A0⟩"),
        ("\u2028", "⟨U+2028⟩"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("", "⟨empty⟩"),
        ("  ", "␠␠"),
        ("l'acqua", "l'acqua"),
        ("è", "è"),
        ("שלום", "שלום"),
        ("🦝", "🦝"),
        ("$x$", "$x$"),
        ("x" * 60, "x" * MAX_LABEL + "…"),
    ],
)
def test_escape(token: str, shown: str) -> None:
    assert escape(token) == shown


@given(st.text(alphabet=st.characters(), max_size=60))
def test_escape_leaves_nothing_that_plotly_reads(token: str) -> None:
    shown = escape(token)
    assert "<" not in shown
    assert ">" not in shown
    assert shown.isprintable()
    assert 0 < len(html.unescape(shown)) <= MAX_LABEL + 1
    shown.encode()


def test_numbered_tells_repeated_words_apart() -> None:
    assert numbered(["the", "dog", "the"]) == ["0 the", "1 dog", "2 the"]


def test_short_axis_draws_every_label_once() -> None:
    figure = go.Figure()
    set_ticks(figure, "x", ["a", "b", "a"], title="token")
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["a", "b", "a"]
    assert len(figure.data) == 0
    assert axis_title(figure, "x") == "token"
    assert axis_title(figure, "y") == ""


@pytest.mark.parametrize("count", [MAX_TICKS + 1, 512])
def test_long_axis_keeps_all_labels_for_hovering_and_draws_few(count: int) -> None:
    labels = [str(position) for position in range(count)]
    figure = go.Figure()
    set_ticks(figure, "y", labels, title="token")
    assert list(figure.layout.yaxis.ticktext) == labels
    assert figure.layout.yaxis.showticklabels is False
    drawn = figure.layout.yaxis2
    assert MAX_TICKS / 2 < len(drawn.tickvals) <= MAX_TICKS
    assert all(drawn.ticktext[index] == str(position) for index, position in enumerate(drawn.tickvals))
    assert axis_title(figure, "y") == "token"


def test_y_axis_starts_at_the_top() -> None:
    figure = go.Figure()
    set_ticks(figure, "y", ["a", "b"], title="token")
    assert list(figure.layout.yaxis.range) == [1.5, -0.5]


def test_pixels_stay_within_bounds() -> None:
    assert pixels(1, per_row=30) == 320
    assert pixels(10, per_row=30) == 450
    assert pixels(512, per_row=30) == 900
