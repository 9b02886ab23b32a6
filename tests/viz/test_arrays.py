"""From a trace to arrays: the right attention, layer, head and sentence, its own tokens and closed cells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models import tiny_model
from transformer.run import encode_sentence, run_sentence, trace_batch
from viz.arrays import MODULES, Attention, attention_maps, closed_cells, n_layers, strongest_cell

RUN = run_sentence(tiny_model(2), "yesterday i saw the dog.", "ho visto il cane")


@pytest.mark.parametrize("attention", MODULES)
def test_weights_are_the_traces(attention: Attention) -> None:
    maps = attention_maps(RUN.trace, attention, "weights")
    stack, name = MODULES[attention]
    assert maps.values.shape == (
        n_layers(RUN.trace, attention),
        3,
        len(maps.query_tokens),
        len(maps.key_tokens),
    )
    for layer in range(len(maps.values)):
        np.testing.assert_array_equal(maps.values[layer], RUN.trace.attention(stack, layer, name).weights[0])
    np.testing.assert_allclose(maps.values.sum(-1), 1, atol=1e-6)
    assert maps.query_tokens == (
        RUN.trace.src_tokens[0] if attention == "encoder" else RUN.trace.tgt_tokens[0]
    )
    assert maps.key_tokens == (RUN.trace.tgt_tokens[0] if attention == "decoder" else RUN.trace.src_tokens[0])


def test_scores_before_the_mask_have_no_closed_cell_and_after_it_are_minus_infinity() -> None:
    raw, masked = (attention_maps(RUN.trace, "decoder", measure) for measure in ("scores", "masked"))
    assert raw.allowed.all()
    assert np.isfinite(raw.values).all()
    assert np.array_equal(masked.allowed, np.tril(np.ones_like(masked.allowed)))
    assert np.isneginf(masked.values[..., ~masked.allowed]).all()
    np.testing.assert_array_equal(
        masked.values[..., masked.allowed], raw.values[..., raw.allowed & masked.allowed]
    )


def test_softmax_of_the_masked_scores_is_the_weights() -> None:
    for attention in MODULES:
        scores = attention_maps(RUN.trace, attention, "masked").values
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        weights = attention_maps(RUN.trace, attention, "weights").values
        np.testing.assert_allclose(exponentials / exponentials.sum(-1, keepdims=True), weights, atol=1e-6)


def test_a_sentence_of_a_batch_has_its_own_mask() -> None:
    loaded = tiny_model()
    sources = [encode_sentence(loaded, loaded.source, text, "sentence") for text in ("cat", "i saw the dog.")]
    trace = trace_batch(loaded, sources)
    first, second = (attention_maps(trace, "cross", "weights", sentence) for sentence in (0, 1))
    assert first.key_tokens == ("cat", "<eos>", *["<pad>"] * (len(second.key_tokens) - 2))
    assert first.allowed[:, :2].all()
    assert not first.allowed[:, 2:].any()
    assert second.allowed.all()


def test_strongest_cell_and_closed_cells() -> None:
    maps = attention_maps(RUN.trace, "decoder", "scores")
    query, key = strongest_cell(maps, 1, 2)
    assert maps.values[1, 2, query, key] == maps.values[1, 2].max()
    assert closed_cells(maps) == {}
    [(reason, closed)] = closed_cells(attention_maps(RUN.trace, "decoder", "weights")).items()
    assert reason.startswith("future")
    assert np.array_equal(closed, np.triu(np.ones_like(closed), 1))
