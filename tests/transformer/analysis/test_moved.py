"""What an attention moves adds up to its sublayer's output, in every kind of model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import attention_record, attentions, n_layers
from transformer.analysis.moved import moved_lengths, moved_values
from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention
from transformer.run import encode_sentence, run_sentence
from transformer.tracing import trace_batch

TEXT = "Yesterday I saw the dog."


def module_of(loaded: LoadedModel, path: str) -> MultiHeadAttention:
    module = loaded.model.get_submodule(path)
    assert isinstance(module, MultiHeadAttention)
    return module


@pytest.mark.parametrize("make", [*KINDS.values(), tiny_model], ids=[*KINDS, "paper"])
def test_weights_times_moved_values_are_the_output(make: Callable[[], LoadedModel]) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT)
    for attention in attentions(run.trace):
        for layer in range(n_layers(run.trace, attention)):
            record = attention_record(run.trace, attention, layer)
            weights = record.weights[0].numpy()
            moved = [moved_values(loaded.model, record, head) for head in range(len(weights))]
            bias = module_of(loaded, record.path).w_o.bias
            total = np.zeros(run.trace[f"{record.path}.out"].shape[1:])
            for head, values in enumerate(moved):
                assert values is not None
                total += weights[head].astype(np.float64) @ values
            if bias is not None:
                total += bias.detach().numpy()
            np.testing.assert_allclose(total, run.trace[f"{record.path}.out"][0].numpy(), atol=1e-5)


@pytest.mark.parametrize("make", KINDS.values(), ids=[*KINDS])
def test_lengths_are_those_of_the_moved_values(make: Callable[[], LoadedModel]) -> None:
    loaded = make()
    run = run_sentence(loaded, TEXT)
    for attention in attentions(run.trace):
        record = attention_record(run.trace, attention, 0)
        lengths = moved_lengths(loaded.model, record)
        assert lengths is not None
        for head in range(record.q.shape[1]):
            values = moved_values(loaded.model, record, head)
            assert values is not None
            np.testing.assert_allclose(lengths[head], np.sqrt((values**2).sum(axis=-1)), rtol=1e-5)


def test_heads_that_are_not_transposed_back_have_no_rows_of_w_o_of_their_own() -> None:
    loaded = tiny_model(merge_heads="untransposed")
    record = attention_record(run_sentence(loaded, TEXT).trace, "encoder", 0)
    assert moved_values(loaded.model, record, 0) is None
    assert moved_lengths(loaded.model, record) is None


def test_a_sentence_of_a_batch_has_its_own_values() -> None:
    loaded = tiny_model()
    texts = (TEXT, "I see a cat.")
    sources = [encode_sentence(loaded, "source", text, text) for text in texts]
    record = attention_record(trace_batch(loaded, sources), "encoder", 1)
    found = [moved_values(loaded.model, record, 2, sentence) for sentence in (0, 1)]
    rows = module_of(loaded, record.path).w_o.weight[:, 20:30].detach().numpy()
    for sentence, values in enumerate(found):
        assert values is not None
        np.testing.assert_allclose(values, record.v[sentence, 2].numpy() @ rows.T, atol=1e-6)
    lengths = moved_lengths(loaded.model, record, 1)
    assert lengths is not None
    assert found[1] is not None
    np.testing.assert_allclose(lengths[2], np.linalg.norm(found[1], axis=-1), rtol=1e-5)
