"""Every piece of a run has the trace's numbers, and no piece name causes an error."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.models import tiny_model
from tests.viz.mounted import unpack_frame
from tests.viz.viewer.runs import LIGHT, assert_same, update, viewed
from transformer.analysis.attention_maps import attention_record
from transformer.analysis.head_ranking import head_scores
from transformer.analysis.moved import moved_lengths
from transformer.run import run_again
from viz.viewer.choice import default_choice
from viz.viewer.frames import piece, run_frame, update_frame
from viz.viewer.viewer_run import ViewerRun, view_weights

KINDS = ("words", "rotary")
"""With separate keys and values per head, and with shared ones; test_viewer_run covers every kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_piece_has_the_numbers_of_the_run(kind: str) -> None:
    own = viewed(kind)[2]
    for name, attention in own.attentions.items():
        assert attention.scores is not None
        assert attention.lengths is not None
        assert attention.vectors is not None
        for layer in range(attention.n_layers):
            weights, scores = attention.weights(layer), attention.scores(layer)
            assert_same(only(own, f"scores:{name}")["values"][layer], scores)
            np.testing.assert_array_equal(
                only(own, f"lengths:{name}")["values"][layer], attention.lengths(layer)
            )
            for query in range(weights.shape[1]):
                assert_same(only(own, f"row:{name}:{query}")["values"][layer], weights[:, query])
            for head in range(attention.n_heads):
                assert_same(only(own, f"head:{name}:{layer}:{head}")["weights"], weights[head])
                assert_same(only(own, f"head_scores:{name}:{layer}:{head}")["scores"], scores[head])
                vectors = only(own, f"vectors:{name}:{layer}:{head}")
                expected = attention.vectors(layer, head)
                assert vectors.keys() == expected.keys() >= {"q", "k", "v", "z", "moved"}
                for vector, values in expected.items():
                    assert_same(vectors[vector], values)
            special = own.sides[attention.keys].special
            ranking = head_scores(weights, special, attention.allowed, is_self_attention=name != "cross")
            found = only(own, f"ranking:{name}")
            assert found.keys() == ranking.keys()
            for score, numbers in ranking.items():
                assert_same(found[score][layer], numbers)


def only(own: ViewerRun, name: str) -> dict[str, NDArray[Any]]:
    """The arrays of one piece."""
    came, arrays = update(own, name)
    assert came == [name]
    assert all(array.startswith(f"{name}/") for array in arrays)
    return {array.removeprefix(f"{name}/"): values for array, values in arrays.items()}


def test_the_same_head_of_another_run_comes_with_that_run_s_numbers() -> None:
    _, run, own = viewed("words")
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
    weights = viewed("words")[2].attentions["cross"].weights(1)
    n_queries, n_keys = weights.shape[1:]
    own = view_weights({"cross": [weights]}, {"decoder": "q" * n_queries, "encoder": "k" * n_keys})
    unknown = ("scores:cross", "head_scores:cross:0:1", "vectors:cross:0:0", "lengths:cross")
    came, arrays = update(own, *unknown, "head:cross:0:1")
    assert came == ["head:cross:0:1"]
    assert list(arrays) == ["head:cross:0:1/weights"]
    assert unpack_frame(run_frame(own, LIGHT))[0]["attentions"][0]["has"] == []


# Names


WRONG = [
    *("", "other:nobody:cross:0:0", "other:random weights", "other:random weights:cross:0:3"),
    *("other:random weights:nope:0:0", "\ud800:cross:0:0", "weights:\ud800"),
    *": :::: nope nope:cross cross other other: head weights scores: row:cross".split(),
    *"weights:nope weights:cross:0 pooled:cross:0:0 ranking: lengths:decoder: head:cross:0".split(),
    *"head:cross:3:0 head:cross:0:3 head:encoder:2:0 head:cross:-1:0 head:cross:0:-1".split(),
    *"head:cross:0:0:0 head:cross:x:0 head:cross:0:1.5 closed:cross __class__:cross".split(),
    *"vectors:cross:0:3 vectors:cross:-3:0 vectors:encoder:2:0 row:cross:-1 row:cross:99".split(),
    "head:cross:" + "9" * 5000 + ":0",
]


@pytest.mark.parametrize("name", WRONG, ids=lambda name: ascii(name)[:40])
def test_a_name_that_names_nothing_is_left_out(name: str) -> None:
    own = viewed("words")[2]
    came, arrays = update(own, "scores:cross", name, "row:cross:0", name)
    assert came == ["scores:cross", "row:cross:0"]
    told, _ = unpack_frame(update_frame(own, default_choice(own), ["scores:cross", name]))
    assert told["none"] == [name], "so that it is not asked for again"
    assert set(arrays) == {"scores:cross/values", "row:cross:0/values"}


PARTS = st.sampled_from(
    ["", "random weights", *"other head row vectors weights cross encoder 0 1 -1 9 x".split()]
)


@given(st.lists(PARTS, max_size=6).map(":".join) | st.text(max_size=20))
def test_no_name_that_a_browser_sends_breaks_the_page(name: str) -> None:
    own = viewed("words")[2]
    came, arrays = update(own, name)
    assert came in ([], [name])
    assert all(array.startswith(f"{name}/") for array in arrays)


def test_a_piece_that_is_asked_for_twice_comes_once() -> None:
    came, _ = update(viewed("words")[2], "row:cross:1", "row:cross:0", "row:cross:1")
    assert came == ["row:cross:1", "row:cross:0"]


def test_what_is_asked_of_a_piece_by_python_may_not_be_wrong() -> None:
    with pytest.raises(ValueError, match="weights"):
        piece(viewed("words")[2], "weights")
    with pytest.raises(IndexError):
        piece(viewed("words")[2], "head:cross:0:3")
    with pytest.raises(KeyError):
        piece(viewed("words")[2], "weights:nope")
