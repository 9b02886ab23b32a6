"""GPT-2 and Llama: logits, attention, hidden states and greedy texts are those of Hugging Face's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
    trace_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_same_stack,
    greedy_ids,
    outputs,
    saved,
    tiny,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

VOCAB, LAYERS, LENGTH, PAD = 41, 3, 29, 2
GPT2 = {
    "vocab_size": VOCAB,
    "n_embd": 33,
    "n_layer": LAYERS,
    "n_head": 3,
    "n_positions": LENGTH,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 60,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 37,
    "max_position_embeddings": LENGTH,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
GPT2_CLASSES = transformers.GPT2LMHeadModel, transformers.GPT2Config
STRETCHED = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 3.0,
    "low_freq_factor": 0.5,
    "high_freq_factor": 2.0,
    "original_max_position_embeddings": 17,
}
OLD_WORDS = {"type": "linear", "factor": 2.5}
LLAMA_CLASSES = transformers.LlamaForCausalLM, transformers.LlamaConfig
QWEN3_CLASSES = transformers.Qwen3ForCausalLM, transformers.Qwen3Config
CASES: dict[str, tuple[tuple[Any, Any], dict[str, Any]]] = {
    "gpt2": (GPT2_CLASSES, GPT2),
    "gpt2, another width": (GPT2_CLASSES, GPT2 | {"n_inner": 23, "activation_function": "gelu"}),
    "gpt2, untied": (GPT2_CLASSES, GPT2 | {"tie_word_embeddings": False}),
    "gpt2, unscaled": (GPT2_CLASSES, GPT2 | {"scale_attn_weights": False}),
    "llama": (LLAMA_CLASSES, LLAMA),
    "llama, tied": (LLAMA_CLASSES, LLAMA | {"tie_word_embeddings": True}),
    "llama, one head of keys": (LLAMA_CLASSES, LLAMA | {"num_key_value_heads": 1}),
    "llama, wide heads": (LLAMA_CLASSES, LLAMA | {"head_dim": 14}),
    "llama, biases": (LLAMA_CLASSES, LLAMA | {"attention_bias": True}),
    "llama, biases of the feed-forward": (LLAMA_CLASSES, LLAMA | {"mlp_bias": True}),
    "llama, base": (
        LLAMA_CLASSES,
        LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}},
    ),
    "llama, stretched": (
        LLAMA_CLASSES,
        LLAMA | {"rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.5}},
    ),
    "llama 3": (LLAMA_CLASSES, LLAMA | {"rope_parameters": STRETCHED}),
    "llama, dynamic": (
        LLAMA_CLASSES,
        LLAMA | {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 2.0}},
    ),
    "qwen2": (
        (transformers.Qwen2ForCausalLM, transformers.Qwen2Config),
        LLAMA | {"use_sliding_window": False},
    ),
    "qwen3": (QWEN3_CLASSES, LLAMA | {"head_dim": 14}),
    "qwen3, stretched": (QWEN3_CLASSES, LLAMA | {"head_dim": 10, "rope_parameters": STRETCHED}),
    "mistral": (
        (transformers.MistralForCausalLM, transformers.MistralConfig),
        LLAMA | {"sliding_window": None, "head_dim": 10},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_parity(tmp_path: Path, case: str) -> None:
    (model_class, config_class), config = CASES[case]
    theirs = tiny(model_class, config_class, **config)
    ours, report = imported(saved(tmp_path, theirs))
    assert not report.questions
    ids = padded(random_ids(VOCAB, 2, 13), PAD, 7)
    words = ids != PAD
    expected = outputs(theirs, ids, words)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"][words], expected.logits[words])
    assert_same_stack(trace, "decoder", expected, words)


@pytest.mark.parametrize("case", CASES)
def test_greedy_texts_are_the_same_token_for_token(tmp_path: Path, case: str) -> None:
    (model_class, config_class), config = CASES[case]
    theirs = tiny(model_class, config_class, **config)
    ours, _ = imported(saved(tmp_path, theirs))
    prompt = random_ids(VOCAB, 5).tolist()
    expected = theirs.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, 5, dtype=torch.long),
        do_sample=False,
        max_new_tokens=17,
        eos_token_id=None,
        pad_token_id=PAD,
        suppress_tokens=[PAD],
    )
    assert greedy_ids(ours, prompt, 17, PAD) == expected[0, 5:].tolist()


def test_gpt2_without_config(tmp_path: Path) -> None:
    theirs = tiny(*GPT2_CLASSES, **GPT2)
    raw = saved(tmp_path, theirs, with_config=False)
    ours, report = imported(raw, {"n_heads": 3})
    assert [question.name for question in report.questions] == ["n_heads", "activation", "norm_eps"]
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_an_uncommon_activation_is_an_answer(tmp_path: Path, activation: str) -> None:
    theirs = tiny(*GPT2_CLASSES, **(GPT2 | {"activation_function": activation}))
    raw = saved(tmp_path, theirs, with_config=False)
    usual = plan_import(raw, {}).report
    assert next(q for q in usual.questions if q.name == "activation").value == "gelu_tanh"
    ours, _ = imported(raw, {"n_heads": 3, "activation": activation})
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_llama_without_config(tmp_path: Path) -> None:
    theirs = tiny(*LLAMA_CLASSES, **LLAMA)
    raw = saved(tmp_path, theirs, with_config=False)
    answers = {"n_heads": 6, "norm_eps": 1e-6, "max_len": LENGTH, "position_base": 10_000}
    ours, report = imported(raw, answers)
    assert ours.config.n_kv_heads == 2
    assert any("Gemma" in note for note in report.notes)
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_a_model_alone_has_its_embedding_for_a_generator(tmp_path: Path) -> None:
    theirs = tiny(*GPT2_CLASSES, **GPT2)
    raw = raw_of(tmp_path, theirs.transformer.state_dict(), theirs.config.to_dict())
    ours, _ = imported(raw)
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_norms_inside_heads_tell_their_width(tmp_path: Path) -> None:
    theirs = tiny(*QWEN3_CLASSES, **(LLAMA | {"head_dim": 14}))
    raw = saved(tmp_path, theirs, with_config=False)
    ours, report = imported(raw, {"norm_eps": 1e-6, "max_len": LENGTH, "position_base": 10_000})
    assert "n_heads" not in [question.name for question in report.questions]
    assert (ours.config.n_heads, ours.config.n_kv_heads, ours.config.d_head) == (6, 2, 14)
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_a_norm_as_wide_as_no_head_is_refused(tmp_path: Path) -> None:
    weights = tiny(*QWEN3_CLASSES, **(LLAMA | {"head_dim": 14})).state_dict()
    for length in (0, 1, 9, 28 * 6 + 1):
        weights["model.layers.0.self_attn.q_norm.weight"] = torch.ones(length)
        with pytest.raises(CheckpointError):
            plan_import(raw_of(tmp_path, weights), {})


def test_heads_without_config_are_those_that_leave_whole_heads_of_keys(tmp_path: Path) -> None:
    raw = saved(tmp_path, tiny(*LLAMA_CLASSES, **LLAMA), with_config=False)
    question = plan_import(raw, {}).report.questions[2]
    assert question.name == "n_heads"
    assert {option.value for option in question.options} == {3, 6, 15, 30}
    with pytest.raises(CheckpointError, match="60 rows of queries and 20 rows of keys"):
        plan_import(raw, {"n_heads": 1})


def test_keys_that_make_no_head_are_refused(tmp_path: Path) -> None:
    weights = tiny(*LLAMA_CLASSES, **LLAMA).state_dict()
    weights["model.layers.0.self_attn.k_proj.weight"] = torch.zeros(7, 60)
    with pytest.raises(CheckpointError, match="heads of one even width"):
        plan_import(raw_of(tmp_path, weights), {})


BARE: dict[str, tuple[Any, Any]] = {
    "llama": (transformers.LlamaModel, transformers.LlamaConfig),
    "qwen2": (transformers.Qwen2Model, transformers.Qwen2Config),
    "qwen3": (transformers.Qwen3Model, transformers.Qwen3Config),
    "mistral": (transformers.MistralModel, transformers.MistralConfig),
    "llama, classifier": (transformers.LlamaForSequenceClassification, transformers.LlamaConfig),
    "llama, tokens": (transformers.LlamaForTokenClassification, transformers.LlamaConfig),
    "llama, answers": (transformers.LlamaForQuestionAnswering, transformers.LlamaConfig),
}


@pytest.mark.parametrize("with_config", [True, False])
@pytest.mark.parametrize("case", BARE)
def test_a_model_without_its_generator_gives_hidden_states(
    tmp_path: Path, case: str, with_config: bool
) -> None:
    theirs = tiny(*BARE[case], **LLAMA)
    answers = {} if with_config else {"norm_eps": 1e-6, "max_len": LENGTH}
    if not with_config and case != "qwen3":  # its norms tell
        answers["n_heads"] = 6
    ours, report = imported(saved(tmp_path, theirs, with_config=with_config), answers)
    assert not ours.config.has_generator
    assert any("proposes no words" in note for note in report.notes)
    ids = random_ids(VOCAB, 2, 13)
    assert_same_stack(trace_of(ours, None, ids), "decoder", outputs(theirs, ids, ids >= 0), ids >= 0)


def test_a_tied_llama_without_config_has_its_embedding_for_a_generator(tmp_path: Path) -> None:
    theirs = tiny(*LLAMA_CLASSES, **(LLAMA | {"tie_word_embeddings": True}))
    weights = {name: weight for name, weight in theirs.state_dict().items() if name != "lm_head.weight"}
    ours, _ = imported(raw_of(tmp_path, weights), {"n_heads": 6, "norm_eps": 1e-6})
    ids = random_ids(VOCAB, 2, 13)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_a_token_that_also_ends_texts_is_no_padding(tmp_path: Path) -> None:
    theirs = tiny(*GPT2_CLASSES, **(GPT2 | {"pad_token_id": 1}))
    ours, _ = imported(saved(tmp_path, theirs))
    assert ours.config.pad_id == -1
    ids = random_ids(VOCAB, 1, 7)
    ids[0, 2] = 1
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_a_window_bounds_the_length_and_changes_nothing_within(tmp_path: Path) -> None:
    mistral = transformers.MistralForCausalLM, transformers.MistralConfig
    theirs = tiny(*mistral, **(LLAMA | {"sliding_window": 11, "head_dim": 10}))
    ours, _ = imported(saved(tmp_path, theirs))
    assert ours.config.max_len == 11
    ids = random_ids(VOCAB, 2, 11)
    assert close(trace_of(ours, None, ids)["logits"], outputs(theirs, ids, ids >= 0).logits)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_scaling": OLD_WORDS, "rope_theta": 500.0},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.5}, "rope_theta": 500.0},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.5, "rope_theta": 500.0}},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "rope_scaling": OLD_WORDS},
    ],
)
def test_rotary_positions_are_read_as_every_version_tells_them(tmp_path: Path, rope: dict[str, Any]) -> None:
    theirs = tiny(*LLAMA_CLASSES, **LLAMA)
    told = {name: value for name, value in theirs.config.to_dict().items() if name != "rope_parameters"}
    config = plan_import(raw_of(tmp_path, theirs.state_dict(), told | rope), {}).skeleton.config
    assert (config.rotary_stretch, config.position_base) == (2.5, 500.0)


@pytest.mark.parametrize(
    "attributes,words",
    [
        ({"rope_scaling": {"type": "yarn", "factor": 2.0}}, "yarn"),
        ({"rope_scaling": {"type": "linear"}}, "factor"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "rotary_stretch"),
        ({"rope_scaling": {"type": "linear", "factor": 10**400}}, "factor"),
        ({"rope_parameters": STRETCHED | {"factor": "3"}}, "factor"),
        ({"rope_parameters": STRETCHED | {"low_freq_factor": 0}}, "low_freq_factor 0.0"),
        ({"rope_parameters": STRETCHED | {"low_freq_factor": 3}}, "larger than the second"),
        ({"rope_parameters": STRETCHED | {"original_max_position_embeddings": 10**400}}, "original_max"),
        ({"rope_parameters": STRETCHED | {"rope_type": ["llama3"]}}, "rope_type"),
        ({"rope_scaling": "linear"}, "rope_scaling"),
        ({"partial_rotary_factor": 0.5}, "0.5"),
        ({"hidden_act": "tanh"}, "hidden_act"),
        ({"layer_types": ["linear_attention"]}, "layer_types"),
        ({"num_key_value_heads": 4}, "n_kv_heads"),
        ({"logit_cap": 30.0}, "logit_cap"),
        ({"rope_parameters": {"rope_theta": 10**400}}, "rope_theta"),
    ],
)
def test_a_llama_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, attributes: dict[str, Any], words: str
) -> None:
    theirs = tiny(*LLAMA_CLASSES, **LLAMA)
    raw = raw_of(tmp_path, theirs.state_dict(), theirs.config.to_dict() | attributes)
    with pytest.raises(CheckpointError, match=words):
        plan_import(raw, {})


@pytest.mark.parametrize("attribute", ["scale_attn_by_inverse_layer_idx", "add_cross_attention"])
def test_a_gpt2_that_ours_does_not_compute_is_refused_by_name(tmp_path: Path, attribute: str) -> None:
    theirs = tiny(*GPT2_CLASSES, **GPT2)
    raw = raw_of(tmp_path, theirs.state_dict(), theirs.config.to_dict() | {attribute: True})
    with pytest.raises(CheckpointError, match=attribute):
        plan_import(raw, {})
