"""The text about a cell: the tokens read and written, why a weight is small, what is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.components.viewer.cell.reading import CASES, numbers, opened, values, vectors
from tests.support.runs import ran
from transformer.analysis.attention_maps import attention_record as record_of


@pytest.mark.slow
def test_a_query_says_what_is_read_and_what_is_written(page: Page, url: str) -> None:
    case = CASES[0]
    view, this = opened(page, url, case.kind, case.options), case.ran()
    side = this.held().sides["decoder"]
    chips = view.locator(".hl-pair .hl-chip")
    expect(chips.first).to_contain_text(f"query 4{side.tokens[4]}")
    expect(chips.first).to_contain_text(f"writes “\u2068{side.written[4]}\u2069”")
    expect(chips.last).to_have_text(f"key 6{this.held().sides['encoder'].tokens[6]}")


def test_a_closed_cell_says_why_it_is_zero(page: Page, url: str) -> None:
    view = opened(page, url, "prompted", "layer=1&head=1&cell=2,4")
    panel, shown = view.locator(".hl-cell"), numbers(view)
    assert (shown["weight"][0], shown["power"][0], shown["mask"][0]) == ("0", "0", "False")
    assert shown["mask"][1].startswith("decoder.layers.1.self_attn.mask [0, 0, 2, 4]")
    expect(panel.locator(".hl-why")).to_contain_text("Why is this zero? The mask closes this cell (future")
    expect(panel.locator("tr.hl-chosen")).to_contain_text("masked")
    strips = vectors(view)
    assert not strips["weight · v"][0].any()
    assert strips["z W_O"][0].any()


@pytest.mark.slow
def test_a_small_weight_says_how_small_it_is(page: Page, url: str) -> None:
    this = ran("words", sharpness=20)
    record = record_of(this.run.trace, "cross", 1)
    weights = record.weights[0, 0].numpy()
    query, key = np.argwhere((weights > 0) & (weights < 1e-4))[0]
    view = opened(page, url, "words", f"attention=cross&layer=1&head=0&cell={query},{key}&sharpness=20")
    scores = record.scores[0, 0, query].numpy()
    assert values(view)["below"] == scores.max() - scores[key]
    told = view.locator(".hl-why")
    expect(told).to_contain_text("Why is this so small? It is not masked.")
    expect(told).to_contain_text(f"(key {scores.argmax()}, ")


@pytest.mark.slow
def test_of_weights_alone_the_row_is_shown(page: Page, url: str) -> None:
    view = opened(page, url, "words", "known=weights&attention=cross&layer=2&head=1&cell=5,4")
    panel = view.locator(".hl-cell")
    expect(panel).to_contain_text("Only the weights of this attention are known here")
    weights = record_of(ran("words").run.trace, "cross", 2).weights[0, 1, 5].numpy()
    got = values(view)
    assert [got[f"weight {key}"] for key in range(len(weights))] == list(weights)
    assert "score" not in got
    expect(panel.locator("canvas:visible")).to_have_count(0)


@pytest.mark.slow
def test_heads_that_are_not_transposed_back_have_no_part_of_w_o(page: Page, url: str) -> None:
    view = opened(page, url, "untransposed", "attention=cross&layer=1&head=1&cell=3,2")
    expect(view.locator(".hl-cell")).to_contain_text("no part of W_O belongs to one head alone")
    assert "weight" in values(view)
    assert "moved" not in values(view)
    assert {"weight · v", "z"} == set(vectors(view)) - {"q", "k", "v", "q ⊙ k", "Σ q ⊙ k"}
