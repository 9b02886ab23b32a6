"""T5, both versions: all numbers and all greedy targets match Hugging Face's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    MT5ForConditionalGeneration,
    T5EncoderModel,
    T5ForConditionalGeneration,
    T5Model,
    UMT5ForConditionalGeneration,
)

from tests.support.crosses import slow_variants
from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    assert_parity,
    assert_same_targets,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    assert_same_stack,
    outputs,
    saved,
    tiny,
)
from tests.transformer.model.core import trace_of

VOCAB, START = 41, 0
T5 = {
    "vocab_size": VOCAB,
    "d_model": 30,
    "d_kv": 14,
    "d_ff": 37,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 3,
    "relative_attention_num_buckets": 10,
    "relative_attention_max_distance": 8,
}
V1_1 = T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
CASES: dict[str, dict[str, Any]] = {
    "1.0": T5,
    "1.1": V1_1,
    "1.0, as deep as wide": {k: v for k, v in T5.items() if k != "num_decoder_layers"},
    "1.0, gated silu": T5 | {"feed_forward_proj": "gated-silu"},
    "1.0, gelu": T5 | {"feed_forward_proj": "gelu", "layer_norm_epsilon": 1e-3},
    "1.0, usual buckets": {k: v for k, v in T5.items() if not k.startswith("relative")},
    "mt5": V1_1,
}


def model_of(case: str) -> Any:
    """A model; version 1.1 gets its own generator, as its published weights have."""
    config = CASES[case]
    theirs = tiny(MT5ForConditionalGeneration if case == "mt5" else T5ForConditionalGeneration, config)
    if config.get("tie_word_embeddings") is False:
        generator = torch.Generator().manual_seed(1)
        theirs.lm_head.weight = nn.Parameter(0.3 * torch.randn(VOCAB, 30, generator=generator))
    return theirs


@pytest.mark.parametrize("case", slow_variants(CASES))
def test_parity_and_greedy_targets(tmp_path: Path, case: str) -> None:
    theirs = model_of(case)
    ours, report = imported(saved(tmp_path, theirs))
    assert (report.family, report.questions) == ("t5", ())
    assert_parity(ours, theirs, start_id=START)
    assert_same_targets(ours, theirs, start_id=START)


def test_the_bias_by_distance_is_theirs_in_both_stacks(tmp_path: Path) -> None:
    theirs = model_of("1.0")
    ours, _ = imported(saved(tmp_path, theirs))
    trace = trace_of(ours, random_ids(VOCAB, 1, 13), random_ids(VOCAB, 1, 11))
    for stack, n in (("encoder", 13), ("decoder", 11)):
        attention = getattr(theirs, stack).block[0].layer[0].SelfAttention
        for layer in range(2):
            bias = trace[f"{stack}.layers.{layer}.self_attn.position_bias"]
            assert torch.equal(bias, attention.compute_bias(n, n))


@pytest.mark.parametrize("case, scaled", [("1.0", True), ("1.1", False)])
def test_older_files_tell_the_version_by_the_tie(tmp_path: Path, case: str, scaled: bool) -> None:
    theirs = model_of(case)
    config = theirs.config.to_dict() | {"tie_word_embeddings": scaled, "n_positions": 23}
    for name in ("scale_decoder_outputs", "dense_act_fn", "is_gated_act"):
        del config[name]
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict(), config))
    assert (ours.config.logits_scale, ours.config.tie_generator) == (scaled, scaled)
    assert ours.config.max_len == 23
    assert_parity(ours, theirs, start_id=START)


@pytest.mark.parametrize("case, answers", [("1.0", {}), ("1.1", {}), ("1.0, gelu", {"activation": "gelu"})])
def test_parity_without_config(tmp_path: Path, case: str, answers: dict[str, Any]) -> None:
    usual = {"relative_attention_max_distance": 128, "layer_norm_epsilon": 1e-6}
    theirs = tiny(T5ForConditionalGeneration, CASES[case] | usual)
    if case == "1.1":
        theirs.lm_head.weight = nn.Parameter(2 * theirs.lm_head.weight.detach())
    ours, report = imported(saved(tmp_path, theirs, with_config=False), answers)
    assert [question.name for question in report.questions] == ["activation", "norm_eps", "logits_scale"]
    assert ours.config.n_heads == 3
    assert_parity(ours, theirs, start_id=START)


def test_an_encoder_alone(tmp_path: Path) -> None:
    theirs = tiny(T5EncoderModel, T5)
    ours, report = imported(saved(tmp_path, theirs))
    assert ours.config.kind == "encoder-only"
    assert any("encoder alone" in note for note in report.notes)
    ids = padded(random_ids(VOCAB, 2, 11), 0, 7)
    assert_same_stack(trace_of(ours, ids, None), "encoder", outputs(theirs, ids, ids != 0), ids != 0)
    with torch.no_grad():
        assert close(ours(ids)[ids != 0], outputs(theirs, ids, ids != 0).last_hidden_state[ids != 0])


def umt5(**told: Any) -> Any:
    """A model whose queries are as small as T5 initialises them, because its scores are not scaled."""
    theirs = tiny(UMT5ForConditionalGeneration, T5 | told)
    for name, parameter in theirs.named_parameters():
        if name.endswith("Attention.q.weight"):
            parameter.data *= T5["d_kv"] ** -0.5
    return theirs


@pytest.mark.parametrize("depths", [(2, 3), (1, 2)])
def test_umt5_has_a_bias_in_each_layer(tmp_path: Path, depths: tuple[int, int]) -> None:
    theirs = umt5(num_layers=depths[0], num_decoder_layers=depths[1])
    ours, report = imported(saved(tmp_path, theirs))
    assert (report.family, report.questions) == ("umt5", ())
    assert_parity(ours, theirs, start_id=START)
    assert_same_targets(ours, theirs, start_id=START)


def test_an_untied_umt5_is_not_scaled(tmp_path: Path) -> None:
    theirs = umt5()
    theirs.lm_head.weight = nn.Parameter(2 * theirs.lm_head.weight.detach())
    theirs.config.tie_word_embeddings = False  # as in the published configurations
    ours, report = imported(saved(tmp_path, theirs))
    assert (report.family, ours.config.logits_scale, ours.config.tie_generator) == ("umt5", False, False)
    assert_parity(ours, theirs, start_id=START)


def test_a_umt5_without_config(tmp_path: Path) -> None:
    theirs = umt5(relative_attention_max_distance=128, layer_norm_epsilon=1e-6)
    ours, report = imported(saved(tmp_path, theirs, with_config=False))
    assert report.family == "umt5"
    assert_parity(ours, theirs, start_id=START)


@pytest.mark.parametrize("told", [{}, {"tie_word_embeddings": False, "architectures": None}])
def test_an_untied_model_alone_has_no_generator(tmp_path: Path, told: dict[str, Any]) -> None:
    theirs = tiny(T5Model, V1_1)
    config = theirs.config.to_dict() | {"architectures": ["T5Model"]} | told
    ours, report = imported(raw_of(tmp_path, theirs.state_dict(), config))
    assert not ours.config.has_generator
    assert any("predicts no words" in note for note in report.notes)
    ids = random_ids(VOCAB, 2, 11)
    with torch.no_grad():
        expected = theirs(input_ids=ids, decoder_input_ids=ids).last_hidden_state
        assert close(ours(ids, ids), expected)


def test_the_bias_that_t5_never_used_is_told_to_be_left_out(tmp_path: Path) -> None:
    theirs = model_of("1.0")
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    weights = theirs.state_dict() | {name: torch.ones(10, 3)}
    _, report = imported(raw_of(tmp_path, weights, theirs.config.to_dict()))
    assert "does not use" in {key.name: key.reason for key in report.keys.unused}[name]


@pytest.mark.parametrize(
    "attributes, words",
    [
        ({"feed_forward_proj": "gated-gelu"}, "feed_forward_proj 'gated-gelu'"),
        ({"feed_forward_proj": "tanh"}, "feed_forward_proj 'tanh'"),
        ({"feed_forward_proj": 7}, "feed_forward_proj 7"),
        ({"is_decoder": True}, "is_decoder"),
        ({"relative_attention_num_buckets": 3}, "n_position_buckets"),
        ({"some_new_gate": 0.5}, "some_new_gate"),
        ({"model_type": "umt5"}, "umt5"),
    ],
)
def test_a_configuration_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, attributes: dict[str, Any], words: str
) -> None:
    assert_refused(tmp_path, model_of("1.0"), attributes, words)
