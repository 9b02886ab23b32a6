"""The grid of all heads: its order and numbers come from the run."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from tests.browser.components.viewer.matrix.reading import (
    HEAD,
    LAYER,
    READ_TABLE,
    held_run,
    open_viewer,
)
from tests.browser.components.views import choose, move_to, picker, state
from tests.support.crosses import full
from transformer.analysis.attention_maps import Attention
from viz.viewer.viewer_run import ViewerRun


@pytest.mark.parametrize(
    "attention", [pytest.param("decoder", marks=pytest.mark.slow), *full("encoder", "cross")]
)
def test_maps_are_in_the_order_of_the_scores(page: Page, url: str, attention: Attention) -> None:
    held, view = held_run(), open_viewer(page, url)
    attn = held.attentions[attention]
    choose(view, "Which attention", attn.label)
    view.get_by_text("Table of these heads", exact=True).click()
    orders = picker(view, "Order of the small heads")
    scores = plain_scores(held, attention)
    assert set(orders.locator("option").evaluate_all("all => all.map((one) => one.value)")) == {
        "layer",
        *scores,
    }
    for name, values in scores.items():
        orders.select_option(name)
        rising = name == "entropy"
        order = np.argsort(values if rising else -values, kind="stable")
        table = view.locator(".hl-grid table")
        expect(table.locator("th", has_text="rank")).to_be_visible()
        expect(view.locator(".hl-grid .hl-note")).to_contain_text("lowest" if rising else "first")
        expect(table.locator("tbody tr").first.locator("td").last).to_have_text(
            f"{float(np.float32(values[order[0]])):.4f}"
        )
        assert state(view)["order"] == order.tolist()
        rows = table.evaluate(READ_TABLE)[1:]
        layers_heads = [divmod(int(number), attn.n_heads) for number in order]
        assert [row[0] for row in rows] == [f"layer {layer}, head {head}" for layer, head in layers_heads]
        assert [row[-2] for row in rows] == [str(rank + 1) for rank in range(len(order))]
    orders.select_option("layer")


def plain_scores(held: ViewerRun, attention: Attention) -> dict[str, NDArray[np.float64]]:
    """The ordering scores of all heads, layer by layer, computed from the weights; costs are the run's."""
    attn = held.attentions[attention]
    weights = np.stack([attn.weights(layer) for layer in range(attn.n_layers)]).astype(np.float64)
    weights = weights.reshape(-1, *weights.shape[2:])
    queries, keys = np.indices(weights.shape[1:])
    line = queries * (weights.shape[2] - 1) / (weights.shape[1] - 1)
    choosing = attn.allowed.sum(axis=1) > 1  # the decoder's first row has a single open key
    logarithms = np.log2(np.where(weights > 0, weights, 1))
    scores = {
        "entropy": -(weights * logarithms).sum(axis=2).mean(axis=1),
        "special": weights[:, choosing][:, :, list(held.sides[attn.keys].special)].sum(axis=2).mean(axis=1),
        "sharpness": weights.max(axis=2).mean(axis=1),
        "diagonal": (weights * (abs(keys - line) <= 1)).sum(axis=2).mean(axis=1),
    }
    if attn.costs is not None:
        scores["cost"] = np.concatenate([attn.costs(layer) for layer in range(attn.n_layers)])
    if attn.queries == attn.keys:
        scores["distance"] = (weights * abs(queries - keys)).sum(axis=2).mean(axis=1)
    return scores


def test_arrow_keys_go_through_the_heads_in_their_order(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    picker(view, "Order of the small heads").select_option("entropy")
    order = np.argsort(plain_scores(held, "cross")["entropy"], kind="stable")
    expect(view.locator(".hl-grid .hl-note")).to_contain_text("Entropy")
    place = order.tolist().index(LAYER * 3 + HEAD)
    step = 1 if place + 1 < len(order) else -1
    view.locator(".hl-grid .hl-stage").focus()
    page.keyboard.press("ArrowRight" if step == 1 else "ArrowLeft")
    layer, head = divmod(int(order[place + step]), 3)
    expect(picker(view, "Layer")).to_have_value(str(layer))
    expect(picker(view, "Head")).to_have_value(str(head))
    expect(view.locator(".hl-grid > .hl-say")).to_contain_text(f"#{place + step + 1} of 9: entropy")


def test_a_map_says_the_number_under_the_pointer(page: Page, url: str) -> None:
    held, view = held_run(), open_viewer(page, url)
    x, y = state(view)["middles"][2][1]
    move_to(page, view.locator(".hl-grid .hl-stage"), x, y)
    tip = view.locator(".hl-grid .hl-tip:visible")
    expect(tip).to_contain_text("layer 2, head 1")
    weights = held.attentions["cross"].weights(2)[1]
    middle = weights[weights.shape[0] // 2, weights.shape[1] // 2]
    expect(tip.locator(".quiet").last).to_contain_text(f" {middle:.2f}")
    expect(tip).to_contain_text(f"{weights.max():.2f}")
    expect(tip).to_contain_text(re.compile("reads .*, writes "))
