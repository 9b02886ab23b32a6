"""The common style of figures: where the title goes."""

from __future__ import annotations

import numpy as np

from viz.figures.decoding import next_words
from viz.figures.dot_product import dot_product_terms
from viz.theme import palette

VECTOR = np.array([1.0, -2.0, 3.0])
TITLE = "<i>head</i> 3"
ESCAPED = "&lt;i&gt;head&lt;/i&gt; 3"


def test_a_title_over_a_legend_is_the_legends_so_that_it_never_lies_over_its_lines() -> None:
    layout = dot_product_terms(VECTOR, VECTOR, theme=palette("light"), title=TITLE).layout
    assert layout.title.text is None
    assert (layout.legend.title.text, layout.legend.title.side) == (ESCAPED, "top")


def test_a_title_without_a_legend_is_the_figures() -> None:
    layout = next_words(["a"], np.array([1.0]), theme=palette("light"), title=TITLE).layout
    assert layout.title.text == ESCAPED
    assert layout.legend.title.text is None
