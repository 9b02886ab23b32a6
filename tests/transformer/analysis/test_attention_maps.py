"""From a trace to arrays: the right attention, layer, head and sentence, its own tokens and masked cells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.attention_maps import (
    MODULES,
    Attention,
    AttentionMaps,
    Words,
    attention_maps,
    attention_words,
    by_word,
    closed_cells,
    n_layers,
    words_of,
)
from transformer.run import encode_sentence, run_sentence
from transformer.tracing import trace_batch

RUN = run_sentence(tiny_model(2), "yesterday i saw the dog.", "ho visto il cane")
TOKENS = ("a", "<pad>", "b", "c")


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
    sources = [encode_sentence(loaded, "source", text, "sentence") for text in ("cat", "i saw the dog.")]
    trace = trace_batch(loaded, sources)
    first, second = (attention_maps(trace, "cross", "weights", sentence) for sentence in (0, 1))
    assert first.key_tokens == ("cat", "<eos>", *["<pad>"] * (len(second.key_tokens) - 2))
    assert first.allowed[:, :2].all()
    assert not first.allowed[:, 2:].any()
    assert second.allowed.all()


def test_closed_cells() -> None:
    assert closed_cells(attention_maps(RUN.trace, "decoder", "scores")) == {}
    [(reason, closed)] = closed_cells(attention_maps(RUN.trace, "decoder", "weights")).items()
    assert reason.startswith("future")
    assert np.array_equal(closed, np.triu(np.ones_like(closed), 1))


def test_padding_that_was_typed_is_told_from_the_future() -> None:
    allowed = np.tril(np.ones((4, 4), bool))
    allowed[:, 1] = False
    reasons = closed_cells(AttentionMaps(np.ones((1, 1, 4, 4), np.float32), allowed, TOKENS, TOKENS))
    assert list(reasons) == ["future: comes after the query", "padding"]
    assert reasons["padding"].nonzero()[1].tolist() == [1] * 4
    assert np.array_equal(reasons["padding"] | reasons["future: comes after the query"], ~allowed)
    assert not (reasons["padding"] & reasons["future: comes after the query"]).any()


SUBWORD_RUN = run_sentence(tiny_subword_model(2), "The dog's 🦝 saw you.", "l'amica non vede il cane!")


def plain_by_word(maps: AttentionMaps, queries: Words, keys: Words) -> np.ndarray:
    """The definition, cell by cell: sum over a word's keys, mean over its queries."""
    n_layers, n_heads, n_queries, n_keys = maps.values.shape
    result = np.zeros((n_layers, n_heads, len(queries.labels), len(keys.labels)))
    for q in range(n_queries):
        own = int(queries.word_of[q])
        for k in range(n_keys):
            share = maps.values[:, :, q, k].astype(np.float64) / list(queries.word_of).count(own)
            result[:, :, own, keys.word_of[k]] += share
    return result


@pytest.mark.parametrize("attention", MODULES)
def test_words_stand_for_their_sub_words(attention: Attention) -> None:
    maps = attention_maps(SUBWORD_RUN.trace, attention, "weights")
    queries, keys = attention_words(SUBWORD_RUN, attention)
    pooled = by_word(maps, queries, keys)
    assert pooled.values.shape[2:] == (len(queries.labels), len(keys.labels)) < maps.values.shape[2:]
    assert pooled.values.dtype == np.float32
    np.testing.assert_allclose(pooled.values, plain_by_word(maps, queries, keys), atol=1e-7)
    np.testing.assert_allclose(pooled.values.sum(-1), 1, atol=1e-6)
    assert (pooled.query_tokens, pooled.key_tokens) == (queries.labels, keys.labels)


def test_bos_and_eos_are_words_of_their_own() -> None:
    source, target = words_of(SUBWORD_RUN, "encoder"), words_of(SUBWORD_RUN, "decoder")
    assert source.labels == ("The", "dog", "'s", "🦝", "saw", "you", ".", "<eos>")
    assert target.labels == ("<bos>", "l'", "amica", "non", "vede", "il", "cane", "!")
    for words, tokens in (
        (source, SUBWORD_RUN.trace.src_tokens[0]),
        (target, SUBWORD_RUN.trace.tgt_tokens[0]),
    ):
        assert len(words.word_of) == len(tokens)
        assert [words.tokens(word)[0] for word in range(len(words.labels))] == words.starts.tolist()
        assert [p for word in range(len(words.labels)) for p in words.tokens(word)] == list(
            range(len(tokens))
        )
    raccoon = [SUBWORD_RUN.trace.src_tokens[0][position] for position in source.tokens(3)]
    assert raccoon == ["▁", "<0xF0>", "<0x9F>", "<0xA6>", "<0x9D>"]


def test_a_word_sees_itself_and_the_words_before_it_only() -> None:
    maps = attention_maps(SUBWORD_RUN.trace, "decoder", "weights")
    pooled = by_word(maps, *attention_words(SUBWORD_RUN, "decoder"))
    assert np.array_equal(pooled.allowed, np.tril(np.ones_like(pooled.allowed)))
    assert (pooled.values[..., ~pooled.allowed] == 0).all()
    assert (pooled.values[..., pooled.allowed] > 0).all()


def test_whole_words_are_their_own_words() -> None:
    for attention in MODULES:
        maps = attention_maps(RUN.trace, attention, "weights")
        pooled = by_word(maps, *attention_words(RUN, attention))
        np.testing.assert_array_equal(pooled.values, maps.values)
        np.testing.assert_array_equal(pooled.allowed, maps.allowed)
        assert pooled.query_tokens == maps.query_tokens
