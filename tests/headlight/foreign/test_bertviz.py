"""Calls of BertViz's views work, by name and by position, and return a page if asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from IPython.display import HTML

import headlight
from tests.headlight.widgets import ENCODER_DECODER, QUERIES, layers, tokens
from tests.viz.mounted import unpack_frame

BERTVIZ_CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], list[str]]] = {
    "positional": ((layers(), tokens(QUERIES)), {}, ["encoder"]),
    "by name": ((), {"attention": layers(), "tokens": tokens(QUERIES)}, ["encoder"]),
    "pair": ((layers(), tokens(QUERIES), 2), {}, ["encoder", "aa", "ab", "ba", "bb"]),
    "pair by name": (
        (),
        {"attention": layers(), "tokens": tokens(QUERIES), "sentence_b_start": 2},
        ["encoder", "aa", "ab", "ba", "bb"],
    ),
    "all options": (
        (layers(), tokens(QUERIES)),
        {"prettify_tokens": False, "layer": 1, "heads": [1, 2], "display_mode": "dark"},
        ["encoder"],
    ),
    "some layers and heads": (
        (layers(), tokens(QUERIES)),
        {"include_layers": [1], "include_heads": [1, 2]},
        ["encoder"],
    ),
    "head_view by position": (
        (layers(), tokens(QUERIES), 2, False, 1, [1, 2]),
        {},
        ["encoder", "aa", "ab", "ba", "bb"],
    ),
    "model_view by position": (
        (layers(), tokens(QUERIES), None, True, "dark", None, None, None, None, None, [1], [1, 2]),
        {},
        ["encoder"],
    ),
    "a tensor as the start of a sentence": (
        (layers(), tokens(QUERIES), torch.tensor([2])),
        {},
        ["encoder", "aa", "ab", "ba", "bb"],
    ),
    "encoder and decoder": ((), ENCODER_DECODER, ["encoder", "decoder", "cross"]),
    "encoder and decoder by position": (
        (None, None, None, True, None, None, *ENCODER_DECODER.values()),
        {},
        ["encoder", "decoder", "cross"],
    ),
    "encoder and decoder by position, as in model_view": (
        (None, None, None, True, "light", *ENCODER_DECODER.values()),
        {},
        ["encoder", "decoder", "cross"],
    ),
    "cross alone": (
        (),
        {name: value for name, value in ENCODER_DECODER.items() if "tokens" in name or "cross" in name},
        ["cross"],
    ),
}


CHOOSE_HEADS = {
    "all options",
    "some layers and heads",
    "head_view by position",
    "model_view by position",
}


@pytest.mark.parametrize("call", BERTVIZ_CALLS)
def test_calls_of_bertviz_work(call: str) -> None:
    given, options, expected = BERTVIZ_CALLS[call]
    widget = headlight.show_attention(*given, **options)
    data, _ = unpack_frame(widget.frame)
    assert [attn["name"] for attn in data["attentions"]] == expected
    if call in CHOOSE_HEADS:
        assert (widget.choice["layer"], widget.choice["head"], widget.choice["heads"]) == (1, 1, (1, 2))


def test_two_sentences_can_be_looked_at_by_themselves() -> None:
    _, arrays = unpack_frame(headlight.show_attention(layers(), tokens(QUERIES), sentence_b_start=2).frame)
    whole = np.concatenate(layers())
    np.testing.assert_array_equal(arrays["weights:ab/values"], whole[:, :, :2, 2:])
    np.testing.assert_array_equal(arrays["weights:ba/values"], whole[:, :, 2:, :2])
    causal = [np.tril(layer) / np.tril(layer).sum(-1, keepdims=True) for layer in layers()]
    data, _ = unpack_frame(headlight.show_attention(causal, tokens(QUERIES), 2).frame)
    assert [attn["name"] for attn in data["attentions"]] == ["decoder", "aa", "ba", "bb"]


def returned(**options: Any) -> str:
    page = headlight.show_attention(layers(), tokens(QUERIES), html_action="return", **options)
    assert isinstance(page, HTML)
    return str(page.data)


def test_a_page_is_returned_that_any_encoding_can_write(tmp_path: Path) -> None:
    written = returned(layer=1)
    (tmp_path / "page.html").write_text(written, encoding="cp1252")
    assert written.startswith("<!doctype html>")
    assert f"<h1>{' '.join(tokens(QUERIES))}</h1>" in written
    assert "Every weight is the float32 number" in written


def test_a_page_has_the_text_of_both_sides() -> None:
    given = ENCODER_DECODER | {
        "encoder_tokens": ["▁Das", "▁ist", "▁ein", "▁<b>", "e", "▁schön", "</s>"],
        "decoder_tokens": ["<pad>", "a", "##b", "c", "d"],
    }
    written = headlight.show_attention(html_action="return", **given).data
    assert "<h1>Das ist ein &lt;b&gt;e sch&#246;n</h1>" in written
    assert '<p class="translation">ab c d</p>' in written


def test_a_page_in_a_notebook_has_a_frame_of_its_own() -> None:
    page = headlight.show_attention(layers(), ["</iframe>", '"', "c", "d", "e"], html_action="return")
    shown = page._repr_html_()  # type: ignore[no-untyped-call]
    assert shown.count("<") == 2
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_arguments_that_contradict_or_do_not_exist_are_refused() -> None:
    call: Any = headlight.show_attention
    with pytest.raises(TypeError, match="got prettify_tokens twice: by position and by name"):
        call(layers(), tokens(QUERIES), None, True, prettify_tokens=False)
    with pytest.raises(TypeError, match="at most 13 arguments by position"):
        call(layers(), tokens(QUERIES), *[None] * 15)
    with pytest.raises(ValueError, match='no html_action \'save\': choose "view" or "return"'):
        call(layers(), tokens(QUERIES), html_action="save")
