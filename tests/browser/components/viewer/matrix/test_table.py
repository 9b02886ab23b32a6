"""The table of the matrix: every number is the run's."""

from __future__ import annotations

import csv
import re
from io import StringIO

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.viewer.matrix.reading import (
    HEAD,
    LAYER,
    MEASURES,
    held_run,
    hover,
    matrix,
    numbers_of,
    open_viewer,
    read_table,
    shown,
    with_reasons,
    written,
)
from tests.browser.components.views import choose, press, state
from tests.support.crosses import full
from tests.support.runs import TWIN
from transformer.analysis.attention_maps import Attention
from viz.figures.labels import visible

ATTENTIONS = pytest.mark.parametrize(
    "attention", ["cross", pytest.param("decoder", marks=pytest.mark.slow), *full("encoder")]
)


@ATTENTIONS
def test_every_measure_has_the_numbers_of_the_run(page: Page, url: str, attention: Attention) -> None:
    held, view = held_run(), open_viewer(page, url)
    attn = held.attentions[attention]
    choose(view, "Which attention", attn.label)
    for measure, label in MEASURES.items():
        choose(view, "Numbers in the cells", measure)
        rows = read_table(view, f"^{attn.label}, layer {LAYER}, head {HEAD}, {re.escape(label)}")
        expected = with_reasons(written(shown(held, attention, measure)), attn.allowed, measure)
        if measure == "masked":  # it has the caption of the scores
            expect(matrix(view).locator("td").filter(has_text="(masked")).to_have_count(0)
            rows = read_table(view, "score")
        assert numbers_of(rows) == expected, measure
        side, keys = held.sides[attn.queries], held.sides[attn.keys].tokens
        queries = [visible(token or "–") for token in side.written or side.tokens]
        assert rows[0][1:] == [visible(token) for token in keys]
        assert [row[0] for row in rows[1 : len(queries) + 1]] == queries


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["weights", *full("scores", "masked", "moved")])
def test_differences_are_taken_from_another_head_and_another_run(page: Page, url: str, measure: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    others = {"head 0": shown(held, "cross", measure, 0), TWIN: shown(held.others[TWIN](), "cross", measure)}
    chosen = shown(held, "cross", measure)
    choose(view, "Numbers in the cells", measure)
    for against, values in others.items():
        choose(view, "Comparison", against)
        press(view, "other")
        rows = read_table(view, f"{against[1:]}$")
        assert numbers_of(rows) == written(values)
        press(view, "difference")
        rows = read_table(view, f"difference, Chosen − {against}$")
        assert numbers_of(rows) == written(chosen - values)
        assert state(view)["selected"] == [LAYER, HEAD]
        press(view, "all three")
        expect(matrix(view).get_by_label("Table of", exact=True).locator("option")).to_have_count(3)


@pytest.mark.slow
def test_hidden_tokens_take_their_weight_with_them_or_leave_it_to_the_rest(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    sides = [held.sides[stack] for stack in ("decoder", "encoder")]
    rows, columns = (
        [i for i in range(len(side.tokens)) if i not in {*side.special, *side.punctuation}] for side in sides
    )
    weights = shown(held, "cross", "weights").astype(np.float64)[rows]
    kept = weights[:, columns]
    about = matrix(view).locator(".hl-matrix-bar .hl-quiet")
    choose(view, "Special tokens and punctuation", "hide")
    hidden = 1 - kept.sum(axis=1) / weights.sum(axis=1)
    expect(about).to_have_text(f"hidden: {100 * hidden.mean():.1f} % of the attention")
    assert numbers_of(read_table(view, "attention weight")) == written(kept.astype(np.float32))
    choose(view, "Special tokens and punctuation", "spread")
    expect(about).to_contain_text("spread over the rest")
    spread = kept / (1 - hidden)[:, None]
    assert numbers_of(read_table(view, "attention weight")) == written(spread.astype(np.float32))
    np.testing.assert_allclose(spread.sum(axis=1), 1, atol=1e-6)


@pytest.mark.slow
def test_sums_are_those_of_the_columns(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    for measure, title in (("weights", "received"), ("moved", "sum")):
        choose(view, "Numbers in the cells", measure)
        values = shown(held, "cross", measure).astype(np.float64)
        rows = read_table(view, MEASURES[measure])
        assert rows[-1][0] == title
        assert [rows[-1][1:]] == written(values.sum(axis=0)[None])
        hover(page, view, len(values), 3)
        tip = view.locator(".hl-tip:visible")
        expect(tip.locator(".value")).to_have_text(f"{values[:, 3].sum():.4f}")
        expect(tip).to_contain_text("receives")
    # Rows of moved lengths don't sum to 1, so their sums are shown next to them.
    hover(page, view, 2, values.shape[1])
    expect(view.locator(".hl-tip:visible .value")).to_have_text(f"{values[2].sum():.4f}")


def test_the_table_is_copied_as_csv(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    choose(view, "Which attention", "Cross-attention")
    matrix(view).get_by_role("button", name="Copy as CSV").click()
    expect(matrix(view).get_by_role("button", name="Copied 24 rows")).to_be_visible()
    rows = list(csv.reader(StringIO(page.evaluate("navigator.clipboard.readText()"))))
    copied = np.array([row[1:] for row in rows[1:-1]], np.float32)
    np.testing.assert_array_equal(copied, shown(held, "cross", "weights"))
    assert rows[0][1:] == [visible(token) for token in held.sides["encoder"].tokens]


@pytest.mark.slow
def test_a_head_of_a_long_run_has_its_own_numbers(page: Page, url: str) -> None:
    held, view = held_run("long"), open_viewer(page, url, "long")
    choose(view, "Which attention", "Cross-attention")
    choose(view, "Numbers in the cells", "moved")
    rows = read_table(view, f"layer {LAYER}, head {HEAD}, length of the moved vector")
    assert numbers_of(rows) == written(shown(held, "cross", "moved"))
