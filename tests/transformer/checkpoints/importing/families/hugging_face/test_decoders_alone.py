"""Decoders without a config.json: what is asked; the answers make the same model."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import imported, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_decoders import (
    VOCAB,
    model_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    assert_same_logits,
    saved,
)
from transformer.checkpoints.importing.recognition import plan_import, with_mapping
from transformer.checkpoints.importing.report import LAYOUT
from transformer.errors import CheckpointError

GEMMA2 = {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "query_pre_attn_scalar": 10}
GEMMA3 = {"num_hidden_layers": 7, "layer_types": None, "query_pre_attn_scalar": 14}
USUAL_BASE = {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.4, "rope_type": "default"}}

ALONE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "gemma": ("gemma", {LAYOUT: "gemma", "n_heads": 6}, {}),
    "gemma2": ("gemma2", {"n_heads": 6, "attention_scale": 1 / math.sqrt(10)}, GEMMA2),
    "gemma3": ("gemma3_text", {"rotary_stretch": 1.0}, GEMMA3),
    "granite": (
        "granite",
        {
            LAYOUT: "granite",
            "n_heads": 6,
            "position_base": 10_000,
            "embedding_scale": 1.7,
            "attention_scale": 0.23,
            "residual_scale": 0.4,
            "logits_scale": 1 / 3,
        },
        {},
    ),
    "smollm3": (
        "smollm3",
        {LAYOUT: "smollm3", "n_heads": 6, "position_base": 2e6},
        {"no_rope_layer_interval": 4, "num_hidden_layers": 5},
    ),
    "phi3": ("phi3", {"n_heads": 6, "rotary_dims": 10}, {}),
    "stablelm": ("stablelm", {"n_heads": 3, "rotary_dims": 4}, {"num_key_value_heads": 3}),
    "olmo": ("olmo", {"n_heads": 6}, {}),
    "gpt-neox": ("gpt_neox", {"n_heads": 3, "rotary_dims": 4}, {}),
    "gpt-neox, one after the other": (
        "gpt_neox",
        {"n_heads": 3, "rotary_dims": 4, "parallel_residual": "no"},
        {},
    ),
    "phi": ("phi", {"n_heads": 3, "rotary_dims": 8}, {}),
    "gpt-j": ("gptj", {"n_heads": 3, "rotary_dims": 4}, {}),
    "starcoder2": (
        "starcoder2",
        {"n_heads": 6, "position_base": 1e4},
        {"norm_epsilon": 1e-5, "sliding_window": None},
    ),
    "bloom": ("bloom", {"n_heads": 3}, {}),
    "falcon": ("falcon", {"n_heads": 3}, {}),
    "falcon, two norms": ("falcon", {"n_heads": 6}, {}),
    "cohere": ("cohere", {"n_heads": 6, "logits_scale": 0.3, "position_base": 5e5}, {}),
    "glm": ("glm", {"n_heads": 6, "rotary_dims": 4}, USUAL_BASE),
    "glm4": ("glm4", {"n_heads": 6, "rotary_dims": 4}, {"head_dim": 10, "rms_norm_eps": 1e-5} | USUAL_BASE),
    "mpt": ("mpt", {"n_heads": 3}, {}),
    "xglm": ("xglm", {"n_heads": 2}, {}),
    "mixtral": ("mixtral", {"n_heads": 6, "n_active_experts": 3}, {}),
    "qwen3-moe": ("qwen3_moe", {"n_active_experts": 2, "position_base": 1e4}, {}),
    "stablelm, normed queries": ("stablelm", {"n_heads": 6, "rotary_dims": 2}, {}),
    "olmo2": ("olmo2", {"n_heads": 6, "position_base": 1e4, "norm_eps": 1e-5}, {}),
}
"""Case -> family, answers, and changes that set the configuration to what the family assumes without one."""


@pytest.mark.parametrize("case", ALONE)
def test_answers_make_the_model_that_config_json_tells(tmp_path: Path, case: str) -> None:
    family, answers, changes = ALONE[case]
    theirs = model_of(case, **changes)
    ours, report = imported(saved(tmp_path, theirs, with_config=False), answers)
    assert report.family == family
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))
    assert {"max_len", *answers} <= {question.name for question in report.questions}


@pytest.mark.parametrize("case", ["gemma2", "gemma3", "gpt-neox", "phi", "gpt-j", "phi3", "stablelm", "olmo"])
def test_names_that_are_a_familys_own_leave_no_layout_to_ask(tmp_path: Path, case: str) -> None:
    report = plan_import(saved(tmp_path, model_of(case), with_config=False), {}).report
    assert LAYOUT not in {question.name for question in report.questions}


def test_llamas_relatives_are_offered_by_their_labels(tmp_path: Path) -> None:
    report = plan_import(saved(tmp_path, model_of("llama"), with_config=False), {}).report
    labels = [option.label for option in report.questions[0].options]
    for word in ("Llama, Mistral", "Gemma: norms", "Granite: ", "SmolLM3: "):
        assert any(word in label for label in labels), labels


def test_norms_of_queries_leave_out_relatives_that_have_none(tmp_path: Path) -> None:
    report = plan_import(saved(tmp_path, model_of("qwen3"), with_config=False), {}).report
    assert LAYOUT not in {question.name for question in report.questions}


@pytest.mark.parametrize("rows,depth,likely", [(49_155, 2, "granite"), (256_000, 2, "gemma")])
def test_a_published_vocabulary_makes_its_family_likely(
    tmp_path: Path, rows: int, depth: int, likely: str
) -> None:
    weights = model_of("llama", num_hidden_layers=depth, hidden_size=12).state_dict()
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name] = torch.zeros(rows, 12, dtype=torch.float16)
    assert plan_import(raw_of(tmp_path, weights), {}).report.family == likely


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gemmas_scale_has_the_precision_of_its_weights(tmp_path: Path, dtype: torch.dtype) -> None:
    theirs = model_of("gemma").to(dtype)
    ours, _ = imported(saved(tmp_path, theirs))
    expected = theirs.model.embed_tokens(torch.tensor([[5]])) / theirs.model.embed_tokens.weight[5]
    assert ours.config.embedding_factor == pytest.approx(expected.mean().item(), rel=4e-3)
    assert ours.config.embedding_factor == torch.tensor(math.sqrt(60), dtype=dtype).item() != math.sqrt(60)


def test_frequencies_that_are_stored_tell_how_much_is_turned(tmp_path: Path) -> None:
    theirs = model_of("gpt-neox")
    weights = theirs.state_dict()
    weights["gpt_neox.layers.0.attention.rotary_emb.inv_freq"] = torch.ones(2)
    weights["embed_out.weight"] = weights.pop("lm_head.weight")  # as in older files
    ours, report = imported(raw_of(tmp_path, weights), {"n_heads": 3})
    assert "rotary_dims" not in {question.name for question in report.questions}
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


@pytest.mark.parametrize("case", ["llama", "gpt2", "gemma"])
def test_a_bias_of_the_generator_is_used(tmp_path: Path, case: str) -> None:
    theirs = model_of(case)
    theirs.lm_head.bias = torch.nn.Parameter(torch.linspace(-1, 1, VOCAB))
    ours, _ = imported(saved(tmp_path, theirs))
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_a_gemma_2_alone_has_no_logits_to_cap(tmp_path: Path) -> None:
    theirs = model_of("gemma2")
    weights = theirs.model.state_dict()
    told = theirs.config.to_dict() | {"architectures": ["Gemma2Model"]}
    ours, _ = imported(raw_of(tmp_path, weights, told))
    assert (ours.config.has_generator, ours.config.logits_soft_cap) == (False, 0.0)


@pytest.mark.parametrize(
    "case,attributes,words",
    [
        ("gemma", {"use_bidirectional_attention": True}, "a decoder that sees later tokens"),
        ("gemma3", {"attn_logit_softcapping": 50.0}, "capped scores"),
        ("gemma3", {"layer_types": ["full_attention"]}, "layer_types .* it must list 4"),
        ("gemma2", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar 0.0: it must be above 0"),
        ("granite", {"logits_scaling": 0}, "logits_scaling 0.0: it must be above 0"),
        ("smollm3", {"no_rope_layers": [1]}, r"no_rope_layers \[1\]: it must list 3"),
        ("phi", {"qk_layernorm": True}, "other norms of queries and keys than the files have"),
        ("stablelm", {"qk_layernorm": True}, "norms of queries and keys that the files don't have"),
        ("falcon", {"alibi": True}, "divided by the square root of the head's width"),
        ("bloom", {"apply_residual_connection_post_layernorm": True}, "added to the normed stream"),
        ("mpt", {"attn_config": {"clip_qkv": 6}}, "clip_qkv 6: queries, keys and values that are cut off"),
        ("mpt", {"logit_scale": "inv_sqrt_d_model"}, "a factor of the logits"),
        (
            "gpt-neo",
            {"attention_types": [[["global"], 1]], "attention_layers": None},
            "it must list 4 values",
        ),
        ("stablelm", {"use_parallel_residual": True}, "another number of norms"),
        ("gpt-neo", {"attention_types": [[[], 10**12]], "attention_layers": None}, "it must list 4 values"),
        ("olmo", {"clip_qkv": 8.0}, "cut off at a number"),
        ("phi3", {"rope_parameters": {"rope_type": "longrope"}}, "longrope"),
        ("gpt-neox", {"rope_parameters": {"partial_rotary_factor": 1.5}}, "a share of each head"),
        (
            "llama",
            {"rope_parameters": {"full_attention": {"rope_theta": 3.0}}},
            "one rotation for all layers",
        ),
    ],
)
def test_what_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, case: str, attributes: dict[str, Any], words: str
) -> None:
    assert_refused(tmp_path, model_of(case), attributes, words)


@pytest.mark.parametrize("case", ["gpt-neox", "phi", "gpt-j", "phi3", "stablelm"])
def test_any_number_of_heads_is_read_or_refused(tmp_path: Path, case: str) -> None:
    raw = saved(tmp_path, model_of(case), with_config=False)
    for n_heads in (-1, 1, 2, 5, 16, 24, 48, 49, 10**9):
        with contextlib.suppress(CheckpointError):
            plan_import(raw, {"n_heads": n_heads})
    with pytest.raises(CheckpointError, match="heads are impossible"):
        plan_import(raw, {"n_heads": 1000})


def test_more_experts_than_any_model_has_are_refused(tmp_path: Path) -> None:
    theirs = model_of("mixtral")
    raw = saved(tmp_path, theirs)
    told = theirs.config.to_dict() | {"num_local_experts": 10**7}
    with pytest.raises(CheckpointError, match="10000000 experts in each of 3 layers"):
        plan_import(replace(raw, texts={"config.json": json.dumps(told)}), {})


LOCAL = {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}


@pytest.mark.parametrize(
    "entry,words",
    [("sliding_attention", "rope_type 'linear' of layers with a window"), ("full_attention", "it needs two")],
)
def test_stretched_layers_are_those_without_a_window(tmp_path: Path, entry: str, words: str) -> None:
    usual = {"rope_type": "default", "rope_theta": 50.0}
    told = {"rope_parameters": {"sliding_attention": usual, "full_attention": usual} | {entry: LOCAL}}
    assert_refused(tmp_path, model_of("gemma3"), told, words)


OWN = """\
like: stablelm
names:
  {prefix}layers.{{}}.mlp.c_fc: decoder.layers.{{}}.feed_forward.w_1
  {prefix}layers.{{}}.mlp.c_proj: decoder.layers.{{}}.feed_forward.w_2
config: {{n_heads: 6, n_kv_heads: 2, gated: false, rotary_dims: 10, activation: gelu_tanh, norm_eps: 1e-3,
  max_len: 29, windows: {{value: 7}}}}
"""


@pytest.mark.parametrize("prefix", ["", "model."])
@pytest.mark.parametrize("with_config", [True, False])
def test_a_mapping_file_may_begin_with_a_shipped_layout(
    tmp_path: Path, prefix: str, with_config: bool
) -> None:
    """Names with and without the layout's prefix are the same, and windows are a setting."""
    theirs = model_of("starcoder2")
    raw = saved(tmp_path, theirs, with_config=with_config)
    ours, _ = imported(with_mapping(raw, OWN.format(prefix=prefix)))
    assert ours.config.attention_windows == (7, 7, 7)
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))
