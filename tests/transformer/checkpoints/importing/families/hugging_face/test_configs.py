"""An attribute missing from config.json means the default of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from tests.transformer.checkpoints.importing.families.foreign import close, padded, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import outputs, tiny
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import fill
from transformer.errors import CheckpointError

VOCAB = 41
ENCODER = {
    "vocab_size": VOCAB,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 37,
    "max_position_embeddings": 29,
}
BOTH = {
    "vocab_size": VOCAB,
    "d_model": 24,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_position_embeddings": 29,
}
T5 = {"vocab_size": VOCAB, "d_model": 24, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 3}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "Bert": ("ForMaskedLM", ENCODER),
    "Roberta": ("ForMaskedLM", ENCODER),
    "XLMRoberta": ("ForMaskedLM", ENCODER),
    "Camembert": ("ForMaskedLM", ENCODER),
    "DistilBert": (
        "ForMaskedLM",
        {"vocab_size": VOCAB, "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 37},
    ),
    "GPT2": ("LMHeadModel", {"vocab_size": VOCAB, "n_embd": 24, "n_layer": 2, "n_head": 3}),
    "Llama": ("ForCausalLM", ENCODER),
    "Mistral": ("ForCausalLM", ENCODER | {"num_key_value_heads": 3}),
    "Qwen2": ("ForCausalLM", ENCODER | {"num_key_value_heads": 3}),
    "Qwen3": ("ForCausalLM", ENCODER | {"num_key_value_heads": 3, "head_dim": 8}),
    "Bart": ("ForConditionalGeneration", BOTH),
    "MBart": ("ForConditionalGeneration", BOTH),
    "Pegasus": ("ForConditionalGeneration", BOTH),
    "Blenderbot": ("ForConditionalGeneration", BOTH),
    "M2M100": ("ForConditionalGeneration", BOTH),
    "FSMT": ("ForConditionalGeneration", BOTH | {"src_vocab_size": VOCAB, "tgt_vocab_size": VOCAB}),
    "Electra": ("ForMaskedLM", ENCODER | {"embedding_size": 12}),
    "Albert": ("ForMaskedLM", ENCODER | {"embedding_size": 12}),
    "Ernie": ("ForMaskedLM", ENCODER),
    "T5": ("ForConditionalGeneration", T5),
    "MT5": ("ForConditionalGeneration", T5 | {"feed_forward_proj": "gated-gelu"}),
    "Marian": ("MTModel", BOTH | {"vocab_size": 58_103, "d_model": 6}),
}
NO_PADDING = ("GPT2", "Llama", "Mistral", "Qwen2", "Qwen3")


def model_of(name: str) -> Any:
    suffix, sizes = SIZES[name]
    return tiny(getattr(transformers, name + suffix), sizes)


@pytest.mark.parametrize("name", SIZES)
def test_padding_that_is_left_out_is_transformers_default(tmp_path: Path, name: str) -> None:
    theirs = model_of(name)
    config = theirs.config.to_dict()
    assert config.pop("pad_token_id") == getattr(transformers, f"{name}Config")().pad_token_id
    pad_id = plan_import(raw_of(tmp_path, theirs.state_dict(), config), {}).report.config.pad_id
    assert pad_id == (-1 if name in NO_PADDING else theirs.config.pad_token_id)


@pytest.mark.parametrize("name", ["Bert", "DistilBert", "Bart", "T5"])
def test_null_is_no_padding(tmp_path: Path, name: str) -> None:
    theirs = model_of(name)
    config = theirs.config.to_dict() | {"pad_token_id": None}
    assert plan_import(raw_of(tmp_path, theirs.state_dict(), config), {}).report.config.pad_id == -1


def test_padding_of_a_small_marian_is_its_last_word(tmp_path: Path) -> None:
    theirs = tiny(transformers.MarianMTModel, BOTH | {"pad_token_id": VOCAB - 1})
    config = theirs.config.to_dict()
    del config["pad_token_id"]
    assert plan_import(raw_of(tmp_path, theirs.state_dict(), config), {}).report.config.pad_id == VOCAB - 1


@pytest.mark.parametrize("begins", [None, 0])
def test_a_bert_that_names_no_padding_does_not_look_at_it(tmp_path: Path, begins: int | None) -> None:
    theirs = model_of("Bert")
    config = theirs.config.to_dict()
    if begins is None:
        del config["pad_token_id"]
    else:
        config |= {"pad_token_id": 0, "bos_token_id": begins}  # as transformers 2 writes it
    planned = plan_import(raw_of(tmp_path, theirs.state_dict(), config), {})
    ids = padded(random_ids(VOCAB, 2, 11), 0, 7)
    words = ids != 0
    expected = outputs(theirs, ids, words).logits
    assert close(trace_of(fill(planned).eval(), ids, None)["logits"][words], expected[words])


HUB: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("hub_configs.json").read_text())
"""Attributes of published models as many versions of transformers write them; the sizes are tiny."""


def published(name: str) -> Any:
    """A random model with the configuration as transformers reads it."""
    model_class = getattr(transformers, HUB[name]["architectures"][0])
    return model_class(model_class.config_class.from_dict(dict(HUB[name])))


@pytest.mark.parametrize("name", HUB)
def test_published_configurations_are_read_as_transformers_reads_them(tmp_path: Path, name: str) -> None:
    theirs = published(name)
    report = plan_import(raw_of(tmp_path, theirs.state_dict(), HUB[name]), {}).report
    whole = theirs.config.to_dict() | {"architectures": HUB[name]["architectures"]}
    again = raw_of(tmp_path, theirs.state_dict(), whole)
    assert report.keys.fits
    assert not report.keys.unexpected
    assert report.config == plan_import(again, {}).report.config


def test_a_window_as_long_as_texts_may_be_changes_nothing(tmp_path: Path) -> None:
    name = "Qwen/Qwen2-0.5B"
    weights = published(name).state_dict()
    planned = [
        plan_import(raw_of(tmp_path, weights, HUB[name] | {"use_sliding_window": used}), {})
        for used in (False, True)
    ]
    assert planned[0].report.config == planned[1].report.config


@pytest.mark.parametrize(
    "name,attributes,words",
    [
        ("HuggingFaceTB/SmolLM2-135M", {"rope_interleaved": True}, "rope_interleaved"),
        ("gpt2", {"is_llama_config": True}, "is_llama_config"),
        ("t5-small", {"quantization_config": {"load_in_8bit": True}}, r"quantised .* dequantize\(\)"),
    ],
)
def test_what_would_compute_something_else_is_refused(
    tmp_path: Path, name: str, attributes: dict[str, Any], words: str
) -> None:
    weights = published(name).state_dict()
    with pytest.raises(CheckpointError, match=words):
        plan_import(raw_of(tmp_path, weights, HUB[name] | attributes), {})
