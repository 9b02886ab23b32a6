"""The arithmetic of a cell in a real browser: the numbers on the page are those of the run's trace."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.components.viewer.cell.reading import (
    CASES,
    DIFFERENT,
    Case,
    in_trace,
    numbers,
    opened,
    rounded,
    values,
    vectors,
)
from tests.support.crosses import full
from tests.support.runs import Ran, ran
from transformer.analysis.attention_maps import AttentionMaps, by_word, words_of
from transformer.analysis.attention_maps import attention_record as record_of


@pytest.mark.parametrize(
    "case",
    [
        CASES[0],
        *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[1:] if case.kind in DIFFERENT),
        *full(*(case for case in CASES[1:] if case.kind not in DIFFERENT)),
    ],
    ids=lambda case: f"{case.kind}-{case.attention}",
)
def test_every_number_is_the_traces_own(page: Page, url: str, case: Case) -> None:
    view, this = opened(page, url, case.kind, case.options), case.ran()
    check_numbers(view, this, case)
    check_vectors(view, this, case)
    expect(view.locator(".hl-formula", has_text="score = ").first).to_contain_text("q · k")


def check_numbers(view: Locator, this: Ran, case: Case) -> None:
    """Check the numbers that name a place in a tensor against that tensor, and recompute the others."""
    shown = numbers(view)
    found = {name: in_trace(this, source) for name, (_, source) in shown.items()}
    of_trace = {name: value for name, value in found.items() if value is not None}
    assert {"weight", "score", "largest", "weight of softmax"} <= set(of_trace)
    for name, value in of_trace.items():
        assert np.float32(shown[name][0]) == value, name

    got, record, (query, key) = values(view), record_of(this.run.trace, case.attention, case.layer), case.cell
    kv_head = case.head // (record.q.shape[1] // record.k.shape[1])
    assert got["weight"] == record.weights[0, case.head, query, key].numpy()
    assert got["score"] == record.scores[0, case.head, query, key].numpy()
    q, k = record.q[0, case.head, query].numpy(), record.k[0, kv_head, key].numpy()
    assert got["dot"] == rounded((q.astype(np.float64) * k).cumsum()[-1])
    attn = this.held().attentions[case.attention]
    np.testing.assert_allclose(got["dot"] / attn.scale + got.get("bias", 0), got["score"], rtol=1e-4)

    scores = record.scores[0, case.head, query].numpy()
    allowed = record.mask[0, 0, query].numpy()
    powers = np.exp((scores - scores[allowed].max()).astype(np.float64)).astype(np.float32)
    total = rounded(powers[allowed].astype(np.float64).cumsum()[-1])
    assert got["denominator"] == got["sum of powers"] == total
    assert got["power"] == powers[key]
    listed = [int(name.split()[1]) for name in got if re.fullmatch(r"power \d+", name)]
    assert key in listed
    assert all(got[f"power {other}"] == powers[other] for other in listed)
    np.testing.assert_allclose(got["power"] / got["denominator"], got["weight"], rtol=1e-5)


def check_vectors(view: Locator, this: Ran, case: Case) -> None:
    """Check the strips that name a tensor against that tensor, and recompute the others."""
    strips = vectors(view)
    for name in ("q", "k", "v", "z"):
        copied, source = strips[name]
        np.testing.assert_array_equal(copied, in_trace(this, source), name)
    record, (query, key) = record_of(this.run.trace, case.attention, case.layer), case.cell
    width = record.q.shape[-1]
    kv_head = case.head // (record.q.shape[1] // record.k.shape[1])
    weights = record.weights[0, case.head, query]
    q, k, v = (strips[name][0] for name in "qkv")
    np.testing.assert_array_equal(strips["q ⊙ k"][0], q * k)
    np.testing.assert_array_equal(
        strips["Σ q ⊙ k"][0], (q.astype(np.float64) * k).cumsum().astype(np.float32)
    )
    np.testing.assert_array_equal(strips["weight · v"][0], weights[key].numpy() * v)

    w_o = this.loaded.model.get_parameter(f"{record.path}.w_o.weight")
    columns = w_o[:, case.head * width : (case.head + 1) * width]  # (D, d_head)
    part = (weights[key] * columns @ record.v[0, kv_head, key]).numpy()
    whole = (columns @ record.z[0, case.head, query]).numpy()
    np.testing.assert_allclose(strips["weight · v W_O"][0], part, atol=2e-6)
    np.testing.assert_allclose(strips["z W_O"][0], whole, atol=2e-6)
    got = values(view)
    np.testing.assert_allclose(got["moved"], np.linalg.norm(part), rtol=1e-5)
    np.testing.assert_allclose(got["length of output"], np.linalg.norm(whole), rtol=1e-5)
    np.testing.assert_allclose(got["share"], part @ whole / (whole @ whole), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_what_happens_to_q_and_k_before_is_told(page: Page, url: str) -> None:
    """Norms, rotary positions and shared heads; then a bias, and scores without the division."""
    view, this = opened(page, url, "rotary", CASES[4].options), CASES[4].ran()
    got, path = values(view), "decoder.layers.1.self_attn"
    for name, state in (("dot unnormed", "norm.input"), ("dot unrotated", "unrotated")):
        q, k = (this.run.trace[f"{path}.{one}_{state}"][0].numpy() for one in "qk")
        assert got[name] == rounded((q[4, 6].astype(np.float64) * k[1, 3]).cumsum()[-1])
    panel = view.locator(".hl-cell")
    expect(panel).to_contain_text("rotated by their positions, 6 and 3")
    expect(panel).to_contain_text("Heads 3 to 5 share head 1 of keys and values")

    view = opened(page, url, "relative", CASES[7].options)
    assert "bias" in values(view)
    expect(view.locator(".hl-cell")).to_contain_text("for a key 3 positions after the query")
    expect(view.locator(".hl-cell")).to_contain_text("without the division")


@pytest.mark.slow
def test_a_long_row_sums_up_its_other_keys(page: Page, url: str) -> None:
    case = Case("words", "decoder", 2, 0, (17, 1))
    view, this = opened(page, url, case.kind, case.options), case.ran()
    weights = record_of(this.run.trace, "decoder", 2).weights[0, 0, 17].numpy()
    got = values(view)
    listed = [int(name.split()[1]) for name in got if re.fullmatch(r"weight \d+", name)]
    assert len(listed) < len(weights)
    assert 1 in listed
    others = np.delete(weights, listed)
    expect(view.locator(".hl-row")).to_contain_text(f"{len(others)} others")
    np.testing.assert_allclose(got["weights of others"], others.sum(dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(got["sum of weights"], 1, rtol=1e-6)


@pytest.mark.slow
def test_between_words_the_sub_words_add_up(page: Page, url: str) -> None:
    text = "The dogs saw the cats, yesterday!"
    this = ran("subwords", text)
    words = words_of(this.run, "encoder")
    row, column = next(
        (i, j)
        for i in range(len(words.labels))
        for j in range(len(words.labels))
        if len(words.tokens(i)) > 1 and len(words.tokens(j)) > 2
    )
    queries, keys = words.tokens(row), words.tokens(column)
    where = f"text={text}&attention=encoder&layer=1&head=1&cell={queries[0]},{keys[1]}&by=word"
    view = opened(page, url, "subwords", where)
    record = record_of(this.run.trace, "encoder", 1)
    weights = record.weights[0, 1].numpy()
    got = values(view)
    for query in queries:
        for key in keys:
            assert got[f"weight {query} {key}"] == weights[query, key]
        np.testing.assert_allclose(got[f"sum {query}"], weights[query, list(keys)].sum(), rtol=1e-6)
    tokens = this.run.trace.src_tokens[0]
    maps = AttentionMaps(weights[None, None], np.ones(weights.shape, bool), tokens, tokens, "weights")
    np.testing.assert_allclose(got["mean"], by_word(maps, words, words).values[0, 0, row, column], rtol=1e-6)
    assert got["weight"] == weights[queries[0], keys[1]]

    other = f"{queries[1]},{keys[2]}"
    follow = view.get_by_label("Below, follow")
    follow.focus()
    follow.select_option(other)
    expect(view.locator("[data-name=weight]")).to_have_attribute(
        "title", re.compile(rf"\[0, 1, {queries[1]}, {keys[2]}\]")
    )
    assert follow.evaluate("node => node.getRootNode().activeElement === node")


@pytest.mark.slow
def test_weight_that_is_spread_is_divided_by_what_is_shown(page: Page, url: str) -> None:
    view = opened(page, url, "words", "attention=cross&layer=1&head=2&cell=3,1&special=spread")
    this = ran("words")
    weights = record_of(this.run.trace, "cross", 1).weights[0, 2, 3].numpy().astype(np.float64)
    hidden = {*this.held().sides["encoder"].special, *this.held().sides["encoder"].punctuation}
    kept = sum(weight for key, weight in enumerate(weights) if key not in hidden)
    got = values(view)
    np.testing.assert_allclose(got["kept"], kept, rtol=1e-6)
    np.testing.assert_allclose(got["spread"], weights[1] / kept, rtol=1e-6)
