"""Attention of any model is shown as given, in every form; what can't be shown is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import headlight
from tests.headlight.widgets import (
    ENCODER_DECODER,
    HEADS,
    KEYS,
    QUERIES,
    answers,
    layers,
    shown,
    tokens,
    weights,
)
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


@pytest.mark.filterwarnings("ignore:The first axis was read as 3 heads")
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
    one_head = layers(1)[0][0, :1]
    for given in (one_head, one_head[0]):
        np.testing.assert_array_equal(shown(headlight.show_attention(given, tokens(QUERIES)))[0], one_head)


def test_what_is_shown_does_not_change_with_the_array_that_was_given() -> None:
    given = layers(1, 70, 70)
    widget = headlight.show_attention(given, tokens(70))
    kept = given[0].copy()
    given[0][:] = 0
    (answer,) = answers(widget, {"fetch": ["head:encoder:0:1"]})
    np.testing.assert_array_equal(unpack_frame(answer)[1]["head:encoder:0:1/weights"], kept[0, 1])


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


def changed(cells: tuple[Any, ...], value: float) -> NDArray[np.float32]:
    """Weights (1, H, Q, K) with another value in some cells of (H, Q, K)."""
    given = layers(1)[0]
    given[0][cells] = value
    return given


REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "sdpa": ((None, tokens(QUERIES)), {}, 'no attention: .*attn_implementation="eager"'),
    "a layer of None": (([None, None], tokens(QUERIES)), {}, "output_attentions=True"),
    "no layers": (((), tokens(QUERIES)), {}, "There is no attention"),
    "two sentences": (
        ([weights(2, HEADS, QUERIES, QUERIES)], tokens(QUERIES)),
        {},
        r"Layer 0 of attention has 2 sentences: pass one without its padding, .*\[layer\[:1, :, :n, :n\]",
    ),
    "no heads": (
        (list(weights(HEADS, QUERIES, QUERIES)), tokens(QUERIES)),
        {},
        r"shape \(5, 5\), without heads.*average_attn_weights=False",
    ),
    "blocks": (
        ([weights(1, 2, HEADS, 4, 12)], tokens(QUERIES)),
        {},
        r"shape \(1, 2, 3, 4, 12\): .* Put blocks of queries, as in LongT5, together",
    ),
    "a whole output without attentions": (
        ({"last_hidden_state": layers()}, tokens(QUERIES)),
        {},
        "no attentions, only last_hidden_state: .*output_attentions=True",
    ),
    "a whole output as a tuple": (
        ((layers()[0][0], tuple(layers())), tokens(QUERIES)),
        {},
        r"a tuple with tuples in it, like a model's whole output: .* outputs\[-1\]",
    ),
    "a whole output by the name of a part": (
        (),
        {"encoder_attention": {"encoder_attentions": layers()}, "encoder_tokens": tokens(QUERIES)},
        "encoder_attention is a whole output: pass its encoder_attentions",
    ),
    "one layer of None": (
        ([*layers(1), None], tokens(QUERIES)),
        {},
        r"Layer 1 of attention is None: .*Leave it out: \[layer for layer in attention if layer is not",
    ),
    "a text in place of weights": (([["a"]], tokens(QUERIES)), {}, "is a str: it has to be a tensor"),
    "layers of two sizes": (
        ([*layers(1), *layers(1, 4, 4)], tokens(QUERIES)),
        {},
        r"different shapes \(heads, queries, keys\): \[\(3, 4, 4\), \(3, 5, 5\)\]",
    ),
    "NaN everywhere": (
        ([np.full((1, HEADS, QUERIES, QUERIES), np.nan)], tokens(QUERIES)),
        {},
        "not finite: every row is NaN, as after an overflow in half precision",
    ),
    "NaN in a row": (
        ([changed((slice(None), 2), np.nan)], tokens(QUERIES)),
        {},
        "not finite: the row of query 2 is NaN. It may attend to no key, .* cut the padding .*nan_to_num",
    ),
    "NaN in a cell": (
        ([changed((1, 2, 3), np.nan)], tokens(QUERIES)),
        {},
        "not finite: the first one is in head 1, query 2, key 3",
    ),
    "masked scores": (([changed((1, 2, 3), -np.inf)], tokens(QUERIES)), {}, "-inf means scores after"),
    "tokens too few": (
        (layers(), tokens(4)),
        {},
        "There are 4 tokens for 5 queries. If the others are padding, cut them from the weights too",
    ),
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


def test_a_first_axis_that_may_be_a_batch_is_shown_as_heads_and_noted() -> None:
    with torch.no_grad():
        _, averaged = torch.nn.MultiheadAttention(6, 2)(*[torch.zeros(QUERIES, 3, 6)] * 3)
    assert averaged.shape == (3, QUERIES, QUERIES)
    with pytest.warns(
        UserWarning, match="first axis was read as 3 heads.*average_attn_weights=False"
    ) as noted:
        headlight.show_attention([averaged], tokens(QUERIES))
    assert noted[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        headlight.show_attention([averaged[:1]], tokens(QUERIES))
        headlight.show_attention(averaged[0], tokens(QUERIES))


def test_advice_for_a_padded_batch_and_for_rows_of_nan_works() -> None:
    n = 3
    attention = [torch.tensor(weights(2, HEADS, QUERIES, n))]
    attention = [torch.nn.functional.pad(layer, (0, QUERIES - n)) for layer in attention]
    shown_part = shown(headlight.show_attention([layer[:1, :, :n, :n] for layer in attention], tokens(n)))
    np.testing.assert_array_equal(shown_part, attention[0][:1, :, :n, :n])
    nan = torch.tensor(changed((slice(None), 0), np.nan))
    assert (shown(headlight.show_attention([torch.nan_to_num(nan)], tokens(QUERIES)))[0, :, 0] == 0).all()


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
