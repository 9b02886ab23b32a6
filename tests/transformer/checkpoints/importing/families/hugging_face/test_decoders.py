"""GPT-2 and Llama: logits, attention, hidden states and greedy texts match Hugging Face's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.crosses import slow_variants
from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_decoders import (
    CASES,
    LENGTH,
    OLD_WORDS,
    STRETCHED,
    VOCAB,
    model_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    assert_same_logits,
    assert_same_stack,
    greedy_ids,
    outputs,
    saved,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import LAYOUT
from transformer.errors import CheckpointError


@pytest.mark.parametrize("case", slow_variants(CASES))
def test_numbers_and_greedy_texts_are_the_same(tmp_path: Path, case: str) -> None:
    theirs = model_of(case)
    ours, report = imported(saved(tmp_path, theirs))
    assert not report.questions
    pad = theirs.config.pad_token_id
    ids = padded(random_ids(VOCAB, 2, 13), pad, 7)
    words = ids != pad
    expected = outputs(theirs, ids, words)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"][words], expected.logits[words])
    assert_same_stack(trace, "decoder", expected, words)
    prompt = random_ids(VOCAB, 5).tolist()
    texts = theirs.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, 5, dtype=torch.long),
        do_sample=False,
        max_new_tokens=17,
        eos_token_id=None,
        pad_token_id=pad,
        suppress_tokens=[pad],
    )
    assert greedy_ids(ours, prompt, 17, pad) == texts[0, 5:].tolist()


def test_gpt2_without_config(tmp_path: Path) -> None:
    theirs = model_of("gpt2")
    raw = saved(tmp_path, theirs, with_config=False)
    ours, report = imported(raw, {"n_heads": 3})
    assert [question.name for question in report.questions] == ["n_heads", "activation", "norm_eps"]
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_an_uncommon_activation_is_an_answer(tmp_path: Path, activation: str) -> None:
    theirs = model_of("gpt2", activation_function=activation)
    raw = saved(tmp_path, theirs, with_config=False)
    usual = plan_import(raw, {}).report
    assert next(q for q in usual.questions if q.name == "activation").value == "gelu_tanh"
    ours, _ = imported(raw, {"n_heads": 3, "activation": activation})
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_llama_without_config(tmp_path: Path) -> None:
    theirs = model_of("llama")
    raw = saved(tmp_path, theirs, with_config=False)
    answers = {"n_heads": 6, "norm_eps": 1e-6, "max_len": LENGTH, "position_base": 10_000}
    ours, report = imported(raw, answers)
    assert ours.config.n_kv_heads == 2
    assert report.questions[0].name == LAYOUT
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_a_model_alone_has_its_embedding_for_a_generator(tmp_path: Path) -> None:
    theirs = model_of("gpt2")
    raw = raw_of(tmp_path, theirs.transformer.state_dict(), theirs.config.to_dict())
    ours, _ = imported(raw)
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_norms_inside_heads_tell_their_width(tmp_path: Path) -> None:
    theirs = model_of("qwen3")
    raw = saved(tmp_path, theirs, with_config=False)
    ours, report = imported(raw, {"norm_eps": 1e-6, "max_len": LENGTH, "position_base": 10_000})
    assert "n_heads" not in [question.name for question in report.questions]
    assert (ours.config.n_heads, ours.config.n_kv_heads, ours.config.d_head) == (6, 2, 14)
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_a_norm_as_wide_as_no_head_is_refused(tmp_path: Path) -> None:
    weights = model_of("qwen3").state_dict()
    for length in (0, 1, 9, 28 * 6 + 1):
        weights["model.layers.0.self_attn.q_norm.weight"] = torch.ones(length)
        with pytest.raises(CheckpointError):
            plan_import(raw_of(tmp_path, weights), {})


def test_heads_without_config_are_those_that_leave_whole_heads_of_keys(tmp_path: Path) -> None:
    raw = saved(tmp_path, model_of("llama"), with_config=False)
    question = next(q for q in plan_import(raw, {}).report.questions if q.name == "n_heads")
    assert {option.value for option in question.options} == {3, 6, 15, 30}
    with pytest.raises(CheckpointError, match="60 rows of queries and 20 rows of keys"):
        plan_import(raw, {"n_heads": 1})


def test_keys_that_make_no_head_are_refused(tmp_path: Path) -> None:
    weights = model_of("llama").state_dict()
    weights["model.layers.0.self_attn.k_proj.weight"] = torch.zeros(7, 60)
    with pytest.raises(CheckpointError, match="heads of one even width"):
        plan_import(raw_of(tmp_path, weights), {})


def test_a_tied_llama_without_config_has_its_embedding_for_a_generator(tmp_path: Path) -> None:
    theirs = model_of("llama, tied")
    weights = {name: weight for name, weight in theirs.state_dict().items() if name != "lm_head.weight"}
    ours, _ = imported(raw_of(tmp_path, weights), {"n_heads": 6, "norm_eps": 1e-6})
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_a_token_that_also_ends_texts_is_no_padding(tmp_path: Path) -> None:
    theirs = model_of("gpt2", pad_token_id=1)
    ours, _ = imported(saved(tmp_path, theirs))
    assert ours.config.pad_id == -1
    ids = random_ids(VOCAB, 1, 7)
    ids[0, 2] = 1
    assert_same_logits(ours, theirs, ids)


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
    theirs = model_of("llama")
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
    assert_refused(tmp_path, model_of("llama"), attributes, words)


@pytest.mark.parametrize("attribute", ["scale_attn_by_inverse_layer_idx", "add_cross_attention"])
def test_a_gpt2_that_ours_does_not_compute_is_refused_by_name(tmp_path: Path, attribute: str) -> None:
    assert_refused(tmp_path, model_of("gpt2"), {attribute: True}, attribute)


def test_a_mixtures_router_is_transformers_beyond_a_window(tmp_path: Path) -> None:
    theirs = model_of("mixtral", sliding_window=5)
    ours, _ = imported(saved(tmp_path, theirs))
    ids = random_ids(VOCAB, 2, 13)
    trace = trace_of(ours, None, ids)
    with torch.no_grad():
        expected = theirs(ids, output_router_logits=True).router_logits
    assert len(expected) == ours.config.n_decoder_layers
    for i, logits in enumerate(expected):
        path = f"decoder.layers.{i}.feed_forward"
        assert close(trace[f"{path}.router_logits"].flatten(0, 1), logits)
        assert ((trace[f"{path}.routing"] > 0).sum(dim=-1) == 3).all()
