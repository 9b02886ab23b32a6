"""Whisper's layers: given the encoder's input, all that both stacks compute matches Hugging Face's model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    saved,
    tiny,
)
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer

VOCAB, HEADS, SOUNDS, LENGTH, PAD = 41, 3, 23, 19, 2
STAND_IN_SOUNDS = 128
"""Rows of the table that stands in for the encoder's audio input."""
CONFIG = {
    "vocab_size": VOCAB,
    "d_model": 30,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_source_positions": SOUNDS,
    "max_target_positions": LENGTH,
    "num_mel_bins": 7,
    "pad_token_id": PAD,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "decoder_start_token_id": 3,
}
BATCH, T = 3, 7


def model(**told: Any) -> Any:
    return tiny(transformers.WhisperForConditionalGeneration, CONFIG | told)


@torch.no_grad()
def assert_same(ours: Transformer, theirs: Any) -> None:
    """Compare both stacks, given their inputs: the encoder's embedded sounds, the decoder's memory."""
    tgt = padded(random_ids(VOCAB, BATCH, T), PAD, 4)
    words = tgt != PAD
    sounds = torch.randn(BATCH, 7, 2 * SOUNDS, generator=torch.Generator().manual_seed(3))
    expected = theirs(
        input_features=sounds,
        decoder_input_ids=tgt,
        decoder_attention_mask=words.long(),
        output_attentions=True,
        output_hidden_states=True,
    )
    recorder = Recorder()
    heard = expected.encoder_hidden_states[0]
    everything = torch.ones(BATCH, 1, 1, SOUNDS, dtype=torch.bool)
    memory = ours.encoder(heard, everything, recorder.at("encoder"))
    assert close(memory, expected.encoder_last_hidden_state)
    mask = causal_mask(T) & padding_mask(tgt, PAD)
    x = ours.decoder(ours.tgt_embedding(tgt), mask, memory, everything, recorder.at("decoder"))
    assert close(ours.propose(x)[words], expected.logits[words])
    records = recorder.records
    for stack, kind, attentions in (
        ("encoder", "self_attn", expected.encoder_attentions),
        ("decoder", "self_attn", expected.decoder_attentions),
        ("decoder", "cross_attn", expected.cross_attentions),
    ):
        for i, weights in enumerate(attentions):
            rows = words if stack == "decoder" else torch.ones(BATCH, SOUNDS, dtype=torch.bool)
            assert_same_rows(records[f"{stack}.layers.{i}.{kind}.weights"], weights, rows)


def assert_same_rows(ours: Tensor, theirs: Tensor, rows: Tensor) -> None:
    for sentence, looking in enumerate(rows):
        assert close(ours[sentence][:, looking], theirs[sentence][:, looking])


@pytest.mark.parametrize("told", [{}, {"scale_embedding": True, "activation_function": "relu"}])
def test_parity(tmp_path: Path, told: dict[str, Any]) -> None:
    theirs = model(**told)
    ours, report = imported(saved(tmp_path, theirs))
    assert report.family == "whisper"
    assert not report.questions
    assert_same(ours, theirs)


def test_the_convolutions_are_told_and_what_stands_in_for_sound(tmp_path: Path) -> None:
    ours, report = imported(saved(tmp_path, model()))
    unused = {key.name: key.reason for key in report.keys.unused}
    assert unused.keys() == {f"model.encoder.conv{n}.{part}" for n in (1, 2) for part in ("weight", "bias")}
    assert all("sound" in reason for reason in unused.values())
    assert any("hears sound" in note for note in report.notes)
    assert any("no numbers for src_embedding.weight" in note for note in report.notes)
    assert ours.config.src_vocab_size == STAND_IN_SOUNDS
    assert ours.config.max_len == LENGTH
    logits = ours(random_ids(STAND_IN_SOUNDS, 2, 11), random_ids(VOCAB, 2, 5))
    assert logits.shape == (2, 5, VOCAB)
    for stack, attentions in ((ours.encoder, ["self_attn"]), (ours.decoder, ["self_attn", "cross_attn"])):
        for layer in stack.layers:
            assert all(not getattr(layer, name).w_k.bias.any() for name in attentions), "keys have no bias"


def test_parity_without_config(tmp_path: Path) -> None:
    theirs = model()
    raw = raw_of(tmp_path, theirs.state_dict())
    ours, report = imported(raw, {"n_heads": HEADS, "activation": "gelu"})
    assert report.family == "whisper"
    assert_same(ours, theirs)


@pytest.mark.parametrize(
    "told, words",
    [
        ({"decoder_attention_heads": 5}, "decoder_attention_heads 5"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"some_new_gate": 0.5}, "some_new_gate"),
        ({"model_type": "moonshine"}, "moonshine"),
    ],
)
def test_a_configuration_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, told: dict[str, Any], words: str
) -> None:
    assert_refused(tmp_path, model(), told, words)
