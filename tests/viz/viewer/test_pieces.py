"""Every piece of a run has the numbers of the trace, and no piece name breaks anything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import tiny_model
from tests.viz.mounted import unpack_frame
from tests.viz.viewer.runs import LIGHT, assert_same, held, update
from transformer.analysis.attention_maps import attention_record
from transformer.analysis.head_ranking import head_scores
from transformer.analysis.moved import moved_lengths
from transformer.run import run_again
from viz.viewer.choice import default_choice
from viz.viewer.frames import piece, run_frame, update_frame
from viz.viewer.viewer_run import view_weights

KINDS = ("words", "rotary")
"""With heads of keys and values of their own, and with shared ones; test_viewer_run has every kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_heads_are_the_trace_s(kind: str) -> None:
    _, run, own = held(kind)
    for name, family in own.attentions.items():
        (_, all_scores) = update(own, f"scores:{name}")
        for layer, head in product(range(family.n_layers), range(family.n_heads)):
            record = attention_record(run.trace, name, layer)
            assert_same(all_scores[f"scores:{name}/values"][layer], record.scores[0])
            asked = f"head:{name}:{layer}:{head}"
            came, arrays = update(own, asked)
            assert came == [asked]
            assert_same(arrays[f"{asked}/weights"], record.weights[0, head])
            assert_same(arrays[f"{asked}/scores"], record.scores[0, head])


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_where_every_head_looks_from_a_query(kind: str) -> None:
    _, run, own = held(kind)
    for name, family in own.attentions.items():
        for query in range(family.allowed.shape[0]):
            _, arrays = update(own, f"row:{name}:{query}")
            row = arrays[f"row:{name}:{query}/values"]
            assert len(row) == family.n_layers
            for layer in range(family.n_layers):
                assert_same(row[layer], attention_record(run.trace, name, layer).weights[0, :, query])


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_the_trace_s(kind: str) -> None:
    _, run, own = held(kind)
    for name, family in own.attentions.items():
        shared = family.n_heads // family.kv_heads
        for layer, head in product(range(family.n_layers), range(family.n_heads)):
            asked = f"vectors:{name}:{layer}:{head}"
            _, arrays = update(own, asked)
            record = attention_record(run.trace, name, layer)
            for vector in ("q", "k", "v", "z"):
                for_head = head // shared if vector in "kv" else head
                assert_same(arrays[f"{asked}/{vector}"], getattr(record, vector)[0, for_head])
            earlier = {"unrotated": "{}_unrotated", "unnormed": "{}_norm.input"}
            for (when, path), own_name in product(earlier.items(), "qk"):
                for_head = head // shared if own_name == "k" else head
                recorded = run.trace.get(f"{record.path}.{path.format(own_name)}")
                assert (recorded is None) == (f"{asked}/{own_name}_{when}" not in arrays)
                if recorded is not None:
                    assert_same(arrays[f"{asked}/{own_name}_{when}"], recorded[0, for_head])
            lengths = np.linalg.norm(arrays[f"{asked}/moved"], axis=-1)
            _, of_all = update(own, f"lengths:{name}")
            np.testing.assert_allclose(of_all[f"lengths:{name}/values"][layer, head], lengths, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_heads_are_ranked_by_the_trace_s_weights(kind: str) -> None:
    _, run, own = held(kind)
    for name, family in own.attentions.items():
        _, arrays = update(own, f"ranking:{name}")
        for layer in range(family.n_layers):
            weights = attention_record(run.trace, name, layer).weights[0].numpy()
            special = own.sides[family.keys].special
            expected = head_scores(weights, special, is_self_attention=name != "cross")
            assert {f"ranking:{name}/{score}" for score in expected} == set(arrays)
            for score, numbers in expected.items():
                assert_same(arrays[f"ranking:{name}/{score}"][layer], numbers)


def test_the_same_head_of_another_run_comes_with_that_run_s_numbers() -> None:
    _, run, own = held("words")
    again = run_again(tiny_model(3), run)
    for layer, head in product(range(3), range(3)):
        asked = f"other:random weights:cross:{layer}:{head}"
        came, arrays = update(own, asked)
        assert came == [asked]
        record = attention_record(again.trace, "cross", layer)
        assert_same(arrays[f"{asked}/weights"], record.weights[0, head])
        assert_same(arrays[f"{asked}/scores"], record.scores[0, head])
        lengths = moved_lengths(tiny_model(3).model, record)
        assert lengths is not None
        moved = record.weights[0, head].numpy() * lengths[head]
        np.testing.assert_allclose(arrays[f"{asked}/moved"], moved, rtol=1e-6)
        assert not np.array_equal(arrays[f"{asked}/weights"], own.attentions["cross"].weights(layer)[head])


def test_of_weights_alone_only_what_is_known_comes() -> None:
    weights = held("words")[2].attentions["cross"].weights(1)
    n_queries, n_keys = weights.shape[1:]
    own = view_weights({"cross": [weights]}, {"decoder": "q" * n_queries, "encoder": "k" * n_keys})
    came, arrays = update(own, "scores:cross", "vectors:cross:0:0", "lengths:cross", "head:cross:0:1")
    assert came == ["head:cross:0:1"]
    assert list(arrays) == ["head:cross:0:1/weights"]
    assert unpack_frame(run_frame(own, LIGHT))[0]["families"][0]["has"] == []


# Names


WRONG = [
    *(
        "",
        ":",
        "::::",
        "nope",
        "nope:cross",
        "cross",
        "other",
        "other:",
        "head",
        "weights",
        "scores:",
        "row:cross",
    ),
    *("weights:nope", "weights:cross:0", "pooled:cross:0:0", "ranking:", "lengths:decoder:", "head:cross:0"),
    *("head:cross:3:0", "head:cross:0:3", "head:encoder:2:0", "head:cross:-1:0", "head:cross:0:-1"),
    *("head:cross:0:0:0", "head:cross:x:0", "head:cross:0:1.5", "head:cross:" + "9" * 5000 + ":0"),
    *("vectors:cross:0:3", "vectors:cross:-3:0", "vectors:encoder:2:0", "row:cross:-1", "row:cross:99"),
    *("other:nobody:cross:0:0", "other:random weights", "other:random weights:cross:0:3"),
    *(
        "other:random weights:nope:0:0",
        "closed:cross",
        "__class__:cross",
        "\ud800:cross:0:0",
        "weights:\ud800",
    ),
]


@pytest.mark.parametrize("name", WRONG, ids=lambda name: ascii(name)[:40])
def test_a_name_that_names_nothing_is_left_out(name: str) -> None:
    own = held("words")[2]
    came, arrays = update(own, "scores:cross", name, "row:cross:0", name)
    assert came == ["scores:cross", "row:cross:0"]
    told, _ = unpack_frame(update_frame(own, default_choice(own), ["scores:cross", name]))
    assert told["none"] == [name], "so that it is not asked for again"
    assert set(arrays) == {"scores:cross/values", "row:cross:0/values"}


PARTS = st.sampled_from(
    [
        "",
        "other",
        "random weights",
        "head",
        "row",
        "vectors",
        "weights",
        "cross",
        "encoder",
        "0",
        "1",
        "-1",
        "9",
        "x",
    ]
)


@given(st.lists(PARTS, max_size=6).map(":".join) | st.text(max_size=20))
def test_no_name_that_a_browser_sends_breaks_the_page(name: str) -> None:
    own = held("words")[2]
    came, arrays = update(own, name)
    assert came in ([], [name])
    assert all(array.startswith(f"{name}/") for array in arrays)


def test_a_piece_that_is_asked_for_twice_comes_once() -> None:
    came, _ = update(held("words")[2], "row:cross:1", "row:cross:0", "row:cross:1")
    assert came == ["row:cross:1", "row:cross:0"]


def test_what_is_asked_of_a_piece_by_python_may_not_be_wrong() -> None:
    with pytest.raises(ValueError, match="weights"):
        piece(held("words")[2], "weights")
    with pytest.raises(IndexError):
        piece(held("words")[2], "head:cross:0:3")
    with pytest.raises(KeyError):
        piece(held("words")[2], "weights:nope")
