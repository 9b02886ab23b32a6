"""Tied embeddings open under either name, resized ones with the rows that they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file, save_model
from torch import Tensor
from transformers import (
    BartForConditionalGeneration,
    BertForMaskedLM,
    GPT2LMHeadModel,
    LlamaForCausalLM,
    PreTrainedModel,
)

from tests.transformer.checkpoints.importing.families.foreign import close, random_ids
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import tiny
from transformer.checkpoints.opening import open_checkpoint, open_model
from transformer.errors import CheckpointError

LLAMA: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 20,
    "intermediate_size": 26,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
TIED = LLAMA | {"tie_word_embeddings": True}
GPT2: dict[str, Any] = {"vocab_size": 37, "n_embd": 33, "n_layer": 2, "n_head": 3, "n_positions": 29}
BERT: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 33,
    "intermediate_size": 26,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 29,
}
BART: dict[str, Any] = {
    "vocab_size": 37,
    "d_model": 33,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 26,
    "decoder_ffn_dim": 26,
    "max_position_embeddings": 29,
}
KINDS = [
    pytest.param(LlamaForCausalLM, TIED, "model.embed_tokens.weight", id="Llama"),
    pytest.param(GPT2LMHeadModel, GPT2, "transformer.wte.weight", id="GPT-2"),
    pytest.param(BertForMaskedLM, BERT, "bert.embeddings.word_embeddings.weight", id="BERT"),
]
IDS = random_ids(37, 2, 7)


def expected(model: PreTrainedModel) -> Tensor:
    with torch.no_grad():
        logits: Tensor = model(IDS).logits
    return logits


def computed(path: Path, **answers: object) -> Tensor:
    loaded = open_checkpoint(path, answers=answers).loaded
    assert loaded is not None
    encodes = loaded.model.config.n_encoder_layers > 0
    with torch.no_grad():
        if not encodes:
            return loaded.model(None, IDS)
        if loaded.model.config.n_decoder_layers:
            return loaded.model(IDS, IDS)
        return loaded.model(IDS, None)


@pytest.mark.parametrize("kind, sizes, words", KINDS)
def test_parity_of_save_model(tmp_path: Path, kind: Any, sizes: dict[str, Any], words: str) -> None:
    """It stores a tied matrix under one of its names, and the others in the metadata."""
    model = tiny(kind, sizes)
    model.config.save_pretrained(tmp_path)
    save_model(model, str(tmp_path / "model.safetensors"))
    assert close(computed(tmp_path), expected(model))


@pytest.mark.parametrize("kind, sizes, words", KINDS)
def test_parity_where_the_generator_alone_is_stored(
    tmp_path: Path, kind: Any, sizes: dict[str, Any], words: str
) -> None:
    model = tiny(kind, sizes)
    model.config.save_pretrained(tmp_path)
    tensors = {name: weight.clone() for name, weight in model.state_dict().items() if name != words}
    save_file(tensors, tmp_path / "model.safetensors")
    assert close(computed(tmp_path), expected(model))


def test_parity_without_a_configuration(tmp_path: Path) -> None:
    model = tiny(GPT2LMHeadModel, GPT2)
    words = "transformer.wte.weight"
    tensors = {name: weight.clone() for name, weight in model.state_dict().items() if name != words}
    save_file(tensors, tmp_path / "w.safetensors")
    assert close(computed(tmp_path / "w.safetensors", n_heads=3, activation="gelu_tanh"), expected(model))


@pytest.mark.parametrize(
    "sizes, extra", [(LLAMA, {}), (TIED, {"model.words.weight": torch.ones(37, 20)})], ids=["untied", "rival"]
)
def test_an_embedding_that_is_missing_is_not_made_up(
    tmp_path: Path, sizes: dict[str, Any], extra: dict[str, Tensor]
) -> None:
    model = tiny(LlamaForCausalLM, sizes)
    model.config.save_pretrained(tmp_path)
    tensors = {name: weight.clone() for name, weight in model.state_dict().items() if "embed" not in name}
    save_file(tensors | extra, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError):
        open_model(tmp_path)


def resized(folder: Path, model: PreTrainedModel, rows: int) -> None:
    """A folder of a resized model with the configuration from before."""
    before = model.config.to_dict() | {"architectures": [type(model).__name__]}
    model.resize_token_embeddings(rows, mean_resizing=False)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps(before))


@pytest.mark.parametrize("rows", [43, 41])
@pytest.mark.parametrize(
    "kind, sizes",
    [
        (LlamaForCausalLM, LLAMA | {"vocab_size": 42}),
        (LlamaForCausalLM, TIED | {"vocab_size": 42}),
        (GPT2LMHeadModel, GPT2 | {"vocab_size": 42}),
        (BertForMaskedLM, BERT | {"vocab_size": 42}),
        (BartForConditionalGeneration, BART | {"vocab_size": 42}),
    ],
    ids=["Llama", "tied Llama", "GPT-2", "BERT", "BART"],
)
def test_parity_of_a_resized_vocabulary(tmp_path: Path, kind: Any, sizes: dict[str, Any], rows: int) -> None:
    model = tiny(kind, sizes)
    resized(tmp_path, model, rows)
    logits = computed(tmp_path)
    assert logits.shape[-1] == rows
    if kind is BartForConditionalGeneration:
        with torch.no_grad():
            assert close(logits, model(IDS, decoder_input_ids=IDS).logits)
    else:
        assert close(logits, expected(model))
    assert any("was resized" in note for note in open_checkpoint(tmp_path).report.notes)


def test_an_embedding_and_a_generator_of_two_sizes_are_refused_with_both(tmp_path: Path) -> None:
    model = tiny(LlamaForCausalLM, LLAMA)
    model.config.save_pretrained(tmp_path)
    tensors = {name: weight.clone() for name, weight in model.state_dict().items()}
    tensors["model.embed_tokens.weight"] = torch.ones(39, 20)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"'lm_head\.weight' is 37 × 20 instead of 39 × 20"):
        open_model(tmp_path)
