"""Attention of any model is shown as given, in every form; what can't be shown is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headlight
from tests.headlight.widgets import HEADS, KEYS, QUERIES, answers, layers, shown, tokens, weights
from tests.viz.mounted import unpack_frame

HOSTILE = "</td><script>alert(1)</script>"
FORMS: dict[str, Callable[[], Any]] = {
    "tuple of tensors": lambda: tuple(map(torch.from_numpy, layers())),
    "that need a gradient": lambda: [torch.from_numpy(layer).requires_grad_() for layer in layers()],
    "arrays of one sentence": lambda: [layer[0] for layer in layers()],
    "float64": lambda: [layer.astype(np.float64) for layer in layers()],
    "one array": lambda: np.concatenate(layers()),
    "one tensor": lambda: torch.from_numpy(np.stack(layers())),
}


@pytest.mark.parametrize("form", FORMS)
def test_weights_may_have_any_form_that_libraries_give_them(form: str) -> None:
    widget = headlight.show_attention(FORMS[form](), tokens(QUERIES))
    np.testing.assert_array_equal(shown(widget), np.concatenate(layers()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_shown_as_it_is(dtype: torch.dtype) -> None:
    given = [torch.from_numpy(layer).to(dtype) for layer in layers()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        widget = headlight.show_attention(given, tokens(QUERIES))
    np.testing.assert_array_equal(shown(widget), torch.cat(given).float())


def test_one_layer_is_a_list_of_one_too() -> None:
    np.testing.assert_array_equal(
        shown(headlight.show_attention(layers(1)[0][0], tokens(QUERIES))), layers(1)[0]
    )


def test_what_is_shown_does_not_change_with_the_array_that_was_given() -> None:
    given = [layer[0] for layer in layers(1, 70, 70)]
    widget = headlight.show_attention(given, tokens(70))
    kept = given[0].copy()
    given[0][:] = 0
    (answer,) = answers(widget, {"fetch": ["head:encoder:0:1"]})
    np.testing.assert_array_equal(unpack_frame(answer)[1]["head:encoder:0:1/weights"], kept[1])


def test_queries_and_keys_may_be_different_tokens() -> None:
    given = layers(keys=KEYS)
    widget = headlight.show_attention(given, tokens(QUERIES, "q"), tokens(KEYS, "k"))
    data, arrays = unpack_frame(widget.frame)
    (attn,) = data["attentions"]
    assert data["sides"][attn["queries"]]["tokens"] == tokens(QUERIES, "q")
    assert data["sides"][attn["keys"]]["tokens"] == tokens(KEYS, "k")
    np.testing.assert_array_equal(arrays["weights:cross/values"], np.concatenate(given))


def test_causal_attention_is_recognised() -> None:
    given = [np.tril(layer) / np.tril(layer).sum(-1, keepdims=True) for layer in layers()]
    data, _ = unpack_frame(headlight.show_attention(given, tokens(QUERIES)).frame)
    assert [(attn["name"], attn["causal"]) for attn in data["attentions"]] == [("decoder", True)]


ENCODER_DECODER = {
    "encoder_attention": layers(2, KEYS, KEYS),
    "decoder_attention": layers(3, QUERIES, QUERIES),
    "cross_attention": layers(3, QUERIES, KEYS),
    "encoder_tokens": tokens(KEYS, "s"),
    "decoder_tokens": tokens(QUERIES, "t"),
}
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
    "encoder and decoder": ((), ENCODER_DECODER, ["encoder", "decoder", "cross"]),
    "cross alone": (
        (),
        {name: value for name, value in ENCODER_DECODER.items() if "tokens" in name or "cross" in name},
        ["cross"],
    ),
}


@pytest.mark.parametrize("call", BERTVIZ_CALLS)
def test_calls_of_bertviz_work(call: str) -> None:
    given, options, expected = BERTVIZ_CALLS[call]
    widget = headlight.show_attention(*given, **options)
    data, _ = unpack_frame(widget.frame)
    assert [attn["name"] for attn in data["attentions"]] == expected
    if "heads" in options or "include_heads" in options:
        assert (widget.choice["layer"], widget.choice["head"], widget.choice["heads"]) == (1, 1, (1, 2))


def test_two_sentences_can_be_looked_at_by_themselves() -> None:
    _, arrays = unpack_frame(headlight.show_attention(layers(), tokens(QUERIES), sentence_b_start=2).frame)
    whole = np.concatenate(layers())
    np.testing.assert_array_equal(arrays["weights:ab/values"], whole[:, :, :2, 2:])
    np.testing.assert_array_equal(arrays["weights:ba/values"], whole[:, :, 2:, :2])
    causal = [np.tril(layer) / np.tril(layer).sum(-1, keepdims=True) for layer in layers()]
    data, _ = unpack_frame(headlight.show_attention(causal, tokens(QUERIES), 2).frame)
    assert [attn["name"] for attn in data["attentions"]] == ["decoder", "aa", "ba", "bb"]


@pytest.mark.parametrize(
    "given, expected",
    [
        (["Ġthe", "Ġca", "fÃ©", "<|endoftext|>"], ["▁the", "▁ca", "fé", "<|endoftext|>"]),
        (["▁the", "cat", "Ġ"], ["▁the", "cat", "Ġ"]),
        (["the", "##s", "[SEP]"], ["the", "##s", "[SEP]"]),
    ],
)
def test_tokens_are_shown_as_ours_are(given: list[str], expected: list[str]) -> None:
    values = weights(1, HEADS, len(given), len(given))
    for pretty in (True, False):
        data, _ = unpack_frame(headlight.show_attention([values], given, prettify_tokens=pretty).frame)
        assert data["sides"]["encoder"]["tokens"] == (expected if pretty else given)


REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "sdpa": ((None, tokens(QUERIES)), {}, 'no attention: .*attn_implementation="eager"'),
    "a layer of None": (([None, None], tokens(QUERIES)), {}, "output_attentions=True"),
    "no layers": (((), tokens(QUERIES)), {}, "There is no attention"),
    "two sentences": (
        ([weights(2, HEADS, QUERIES, QUERIES)], tokens(QUERIES)),
        {},
        r"Layer 0 of attention has 2 sentences: pass one, such as \[layer\[0\] for layer in",
    ),
    "one head": ((list(weights(HEADS, QUERIES, QUERIES)), tokens(QUERIES)), {}, r"shape \(5, 5\)"),
    "generate": (([tuple(layers())], tokens(QUERIES)), {}, "is a tuple of tensors: pass one step"),
    "layers of two sizes": (
        ([*layers(1), *layers(1, 4, 4)], tokens(QUERIES)),
        {},
        r"different shapes \(heads, queries, keys\): \[\(3, 4, 4\), \(3, 5, 5\)\]",
    ),
    "NaN": (([np.full((1, HEADS, QUERIES, QUERIES), np.nan)], tokens(QUERIES)), {}, "not finite"),
    "tokens too few": ((layers(), tokens(4)), {}, "There are 4 tokens for 5 queries"),
    "no tokens": ((layers(),), {}, "There are no tokens: pass the 5 tokens of the queries"),
    "a text": ((layers(), "a b c"), {}, "must be a list of tokens"),
    "ids": ((layers(), [3, 1, 4, 1, 5]), {}, "convert_ids_to_tokens"),
    "cached keys": ((layers(keys=KEYS), tokens(QUERIES)), {}, "has 5 queries and 7 keys: pass the tokens"),
    "no encoder tokens": (
        (),
        ENCODER_DECODER | {"encoder_tokens": None},
        "no encoder_tokens: pass the 7 tokens of the queries of encoder_attention",
    ),
    "both kinds": ((layers(), tokens(QUERIES)), ENCODER_DECODER, "not both"),
    "one sentence": ((layers(), tokens(QUERIES), 5), {}, "sentence_b_start is 5: it must be within the 5"),
    "layer": ((layers(), tokens(QUERIES)), {"layer": 2}, "no layer 2: the self-attention has 0 to 1"),
    "scores": ((layers(), tokens(QUERIES)), {"view": "scores"}, "no view 'scores'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_shown_is_refused_with_what_to_do(case: str) -> None:
    given, options, told = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=told):
        headlight.show_attention(*given, **options)


def test_rows_that_do_not_sum_to_1_are_shown_and_noted() -> None:
    given = layers()
    given[1][0, 2, 3] *= 0.5
    given[0][0, 0, 0] = 0  # a query whose keys are all masked
    with pytest.warns(UserWarning, match=r"row of layer 1 of the self-attention sums to 0\.5, not") as noted:
        widget = headlight.show_attention(given, tokens(QUERIES))
    assert noted[0].filename == __file__
    np.testing.assert_array_equal(shown(widget), np.concatenate(given))


def test_without_a_kernel_there_is_a_table_and_no_markup_of_tokens() -> None:
    values = layers(queries=30, keys=30)
    values[0][0, 1, :, 1:] = 0
    names = [HOSTILE, "<b>", "a\u202eb", *tokens(27)]
    values[0][0, 1, :, 0] = 1
    widget = headlight.show_attention(values, names, layer=0, head=1)
    data, _ = widget._repr_mimebundle_() or ({}, {})
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert data["text/plain"] == repr(widget)
    table = data["text/html"]
    assert "&lt;/td&gt;&lt;script&gt;" in table
    assert "<script" not in table
    assert "a⟨U+202E⟩b" in table
    assert table.count("<tr>") == 25
    assert table.count(">1.00</td>") == 24
    assert "the first 24 of 30 queries, 24 of 30 keys" in table
    assert unpack_frame(widget.frame)[0]["sides"]["encoder"]["tokens"][0] == "</td><script>alert(1)</s…"
