"""What is recorded of a batch: padding, labels, and where the numbers are kept."""

from __future__ import annotations

import pytest
import torch

from tests.support.models import tiny_model, tiny_subword_model
from transformer.model.trace import Recorder
from transformer.run import encode_sentence, run_sentence
from transformer.tracing import trace_batch


def test_padding_a_batch_changes_nothing() -> None:
    loaded = tiny_model(5)
    sentences = ["i saw a cat.", "yesterday i saw the dog.", "cat"]
    encoded = [encode_sentence(loaded, "source", text, "sentence") for text in sentences]
    batch = trace_batch(loaded, encoded)
    for i, text in enumerate(sentences):
        alone = run_sentence(loaded, text)
        n_src, n_tgt = len(alone.trace.src_tokens[0]), len(alone.target_ids)
        assert batch.src_tokens[i][:n_src] == alone.trace.src_tokens[0]
        assert batch.tgt_tokens[i][:n_tgt] == alone.trace.tgt_tokens[0]
        assert set(batch.tgt_tokens[i][n_tgt:]) <= {"<pad>"}
        assert set(batch.src_tokens[i][n_src:]) <= {"<pad>"}
        cross, expected = (t.attention("decoder", 1, "cross_attn").weights for t in (batch, alone.trace))
        torch.testing.assert_close(cross[i, :, :n_tgt, :n_src], expected[0, :, :n_tgt], atol=1e-6, rtol=0)
        assert cross[i, :, :, n_src:].eq(0).all()


def test_a_batch_of_sub_words_is_labelled_and_padded() -> None:
    loaded = tiny_subword_model()
    sources = [encode_sentence(loaded, "source", text, "sentence") for text in ("cat", "the dog’s 🦝")]
    trace = trace_batch(loaded, sources)
    longest = len(sources[1].tokens)
    assert trace.src_tokens[1] == (*sources[1].tokens, "<eos>")
    assert trace.src_tokens[0] == (
        *sources[0].tokens,
        "<eos>",
        *["<pad>"] * (longest - len(sources[0].tokens)),
    )


def test_trace_lives_on_the_cpu_and_needs_no_gradient() -> None:
    trace = run_sentence(tiny_model(), "the cat").trace
    assert all(tensor.device.type == "cpu" and not tensor.requires_grad for tensor in trace.values())


def test_a_run_does_not_keep_a_table_of_which_it_shows_a_part() -> None:
    loaded = tiny_model()
    own = {
        tensor.untyped_storage().data_ptr()
        for tensor in (*loaded.model.parameters(), *loaded.model.buffers())
    }
    trace = run_sentence(loaded, "i saw a cat", "ho visto un gatto").trace
    assert not own & {tensor.untyped_storage().data_ptr() for tensor in trace.values()}


@pytest.mark.parametrize("large", [0, 200, 2**16])
def test_small_tensors_share_one_storage_and_large_ones_have_their_own(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer.tracing._LARGE", large)
    loaded, recorder = tiny_model(), Recorder()
    run = run_sentence(loaded, "i saw a cat", "ho visto un gatto")
    trace = run.trace
    assert run.encoder_input
    assert run.decoder_input
    with torch.inference_mode():
        loaded.model(
            torch.tensor([run.encoder_input.ids]), torch.tensor([run.decoder_input.ids]), tap=recorder
        )
    assert trace.keys() == recorder.records.keys()
    for path, tensor in recorder.records.items():
        assert trace[path].dtype == tensor.dtype, path
        assert torch.equal(trace[path], tensor), path
    small = [tensor for tensor in trace.values() if tensor.nbytes < large]
    assert len({tensor.untyped_storage().data_ptr() for tensor in small}) == len({t.dtype for t in small})
    for tensor in trace.values():
        assert tensor.nbytes < large or tensor.untyped_storage().nbytes() == tensor.nbytes
