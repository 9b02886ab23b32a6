"""A run cut off during decoding: nothing of what comes later, and the numbers of that step."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.viz.viewer.runs import DECODERS, MODELS, TARGET, TEXT, vectors_of, viewed
from transformer.analysis.attention_maps import Attention
from transformer.run import encode_sentence, force
from viz.viewer.truncation import truncated
from viz.viewer.viewer_run import view_run


@pytest.mark.parametrize("kind", ["rotary", "relative", "languages"])
def test_a_truncated_run_has_nothing_of_what_came_later(kind: str) -> None:
    _, _, whole = viewed(kind)
    newest = len(whole.sides["decoder"].tokens) - 4
    n_keys: dict[Attention, int] = {"decoder": newest + 1}
    if "cross" in whole.attentions:
        n_keys["cross"] = len(whole.sides["encoder"].tokens)
    cut = truncated(whole, newest, n_keys)
    assert list(cut.attentions) == list(n_keys)
    before, side = whole.sides["decoder"], cut.sides["decoder"]
    assert side.tokens == before.tokens[: newest + 1]
    assert side.written == before.written[: newest + 1]
    assert side.special == tuple(at for at in before.special if at <= newest)
    assert side.words is None
    assert dict(cut.others) == {}
    assert cut.receipt is None
    for name, view in cut.attentions.items():
        n_queries, own_keys = newest + 1, n_keys[name]
        assert view.allowed.shape == (n_queries, own_keys)
        assert view.has == [one for one in whole.attentions[name].has if one != "costs"]
        for layer, head in product(range(view.n_layers), range(view.n_heads)):
            assert view.scores is not None
            assert view.lengths is not None
            assert (
                view.weights(layer).shape == view.scores(layer).shape == (view.n_heads, n_queries, own_keys)
            )
            np.testing.assert_allclose(view.weights(layer).sum(-1), 1, atol=1e-5)
            lengths = view.lengths(layer)
            assert lengths is not None
            assert lengths.shape == (view.n_heads, own_keys)
            for vector, array in vectors_of(view, layer, head).items():
                rows = n_queries if vector.split("_")[0] in ("q", "z", "bias") else own_keys
                assert array.shape[0] == rows, vector
                assert vector != "bias" or array.shape == (n_queries, own_keys)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_truncated_run_is_the_run_of_its_tokens(kind: str) -> None:
    """Later tokens change nothing before them, so these are the numbers that the model had at that step."""
    loaded = MODELS[kind]()
    source = encode_sentence(loaded, "source", TEXT, "sentence")
    ids = encode_sentence(loaded, "target", TARGET, "target").ids
    whole = view_run(force(loaded, source, loaded.target.describe_ids(ids)), loaded)
    then = view_run(force(loaded, source, loaded.target.describe_ids(ids[:2])), loaded)
    n_then = len(then.sides["decoder"].tokens)
    n_keys: dict[Attention, int] = {"decoder": n_then}
    if "cross" in then.attentions:
        n_keys["cross"] = len(then.sides["encoder"].tokens)
    cut = truncated(whole, n_then - 1, n_keys)
    assert cut.sides["decoder"].tokens == then.sides["decoder"].tokens
    for name, view in cut.attentions.items():
        np.testing.assert_array_equal(view.allowed, then.attentions[name].allowed)
        for layer, head in product(range(view.n_layers), range(view.n_heads)):
            np.testing.assert_allclose(view.weights(layer), then.attentions[name].weights(layer), atol=1e-5)
            expected = vectors_of(then.attentions[name], layer, head)
            for vector, array in vectors_of(view, layer, head).items():
                np.testing.assert_allclose(array, expected[vector], atol=1e-4, err_msg=vector)
