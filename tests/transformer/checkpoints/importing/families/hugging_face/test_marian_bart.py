"""Marian, BART and their kin: all numbers and all greedy targets match Hugging Face's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.support.crosses import slow_variants
from tests.transformer.checkpoints.importing.families.foreign import close, imported, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    assert_parity,
    assert_same_targets,
    lively,
    with_logits_bias,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    saved,
    tiny,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import LAYOUT
from transformer.errors import CheckpointError

VOCAB, TGT_VOCAB, HEADS = 41, 43, 3
SIZES = {
    "vocab_size": VOCAB,
    "d_model": 30,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 37,
    "decoder_ffn_dim": 37,
    "max_position_embeddings": 19,
}
MARIAN = SIZES | {
    "pad_token_id": 2,
    "decoder_start_token_id": 2,
    "eos_token_id": 0,
    "scale_embedding": True,
    "activation_function": "swish",
}
FSMT = {name: size for name, size in SIZES.items() if name != "vocab_size"} | {
    "src_vocab_size": VOCAB,
    "tgt_vocab_size": TGT_VOCAB,
    "langs": ["en", "de"],
    "use_cache": False,  # with a cache, a forward of a whole target sees later tokens
}
UNTIED = {"tie_word_embeddings": False}
APART = {"decoder_vocab_size": TGT_VOCAB, "share_encoder_decoder_embeddings": False}
CLASSES: dict[str, tuple[Any, int]] = {
    "marian": (transformers.MarianMTModel, 2),
    "bart": (transformers.BartForConditionalGeneration, 2),
    "mbart": (transformers.MBartForConditionalGeneration, 5),
    "pegasus": (transformers.PegasusForConditionalGeneration, 0),
    "blenderbot": (transformers.BlenderbotForConditionalGeneration, 1),
    "m2m_100": (transformers.M2M100ForConditionalGeneration, 2),
    "fsmt": (transformers.FSMTForConditionalGeneration, 2),
}
"""Family -> class, and the id that targets begin with."""
CASES: dict[str, dict[str, Any]] = {
    "marian": MARIAN,
    "marian, unscaled relu": MARIAN | {"scale_embedding": False, "activation_function": "relu"},
    "marian, untied": MARIAN | UNTIED,
    "marian, two vocabularies": MARIAN | APART,
    "marian, two vocabularies, untied": MARIAN | APART | UNTIED,
    "bart": SIZES,
    "bart, scaled gelu_new": SIZES | {"scale_embedding": True, "activation_function": "gelu_new"},
    "bart, untied": SIZES | UNTIED,
    "mbart": SIZES | {"scale_embedding": True},
    "mbart, untied": SIZES | UNTIED,
    "mbart, relu": SIZES | {"activation_function": "relu"},
    "pegasus": SIZES | {"scale_embedding": True, "activation_function": "relu"},
    "pegasus, untied": SIZES | UNTIED,
    "blenderbot": SIZES | {"scale_embedding": True},
    "blenderbot, untied": SIZES | UNTIED,
    "m2m_100": SIZES,
    "m2m_100, untied": SIZES | UNTIED | {"pad_token_id": 0, "bos_token_id": 5},
    "fsmt": FSMT,
    "fsmt, wide encoder": FSMT | {"encoder_ffn_dim": 47},
    "fsmt, wide decoder": FSMT | {"decoder_ffn_dim": 53, "activation_function": "gelu"},
    "fsmt, tied": FSMT | {"tgt_vocab_size": VOCAB, "tie_word_embeddings": True, "scale_embedding": False},
}
ANY_CASE = pytest.mark.parametrize("case", slow_variants(CASES))


def family_of(case: str) -> str:
    return case.split(",")[0]


def start_of(case: str) -> int:
    return CLASSES[family_of(case)][1]


def model_of(case: str, seed: int = 0) -> Any:
    theirs = tiny(CLASSES[family_of(case)][0], CASES[case], seed)
    if hasattr(theirs, "final_logits_bias"):
        with_logits_bias(theirs)
    return with_sinusoids(theirs)


def with_sinusoids(theirs: Any) -> Any:
    """Restore the sinusoids, which randomizing or rounding has changed."""
    for stack in (theirs.model.encoder, theirs.model.decoder):
        positions = stack.embed_positions
        if hasattr(positions, "create_weight"):
            positions.weight.data = positions.create_weight()
        elif hasattr(positions, "make_weight"):
            positions.make_weight(*positions.weight.shape, positions.padding_idx)
    return theirs


@ANY_CASE
def test_parity(tmp_path: Path, case: str) -> None:
    theirs = model_of(case)
    ours, report = imported(saved(tmp_path, theirs))
    assert report.family == family_of(case)
    assert not report.questions
    assert_parity(ours, theirs, start_id=start_of(case))


# Given several start tokens, FSMT's own generation lets the earlier ones see the later ones.
GREEDY = [
    pytest.param(case, marks=[] if case in CLASSES else pytest.mark.full)
    for case in CASES
    if family_of(case) != "fsmt"
]


@pytest.mark.parametrize("case", GREEDY)
def test_greedy_targets_are_the_same_token_for_token(tmp_path: Path, case: str) -> None:
    theirs = lively(model_of(case, seed=5))
    ours, _ = imported(saved(tmp_path, theirs))
    assert_same_targets(ours, theirs, start_id=start_of(case))


@pytest.mark.parametrize(
    "case, answers",
    [
        ("marian", {"n_heads": HEADS, "embedding_scale": True}),
        ("marian, two vocabularies", {"n_heads": HEADS, "embedding_scale": True}),
        ("bart", {"n_heads": HEADS, "embedding_scale": False}),
        ("bart, untied", {"n_heads": HEADS, "embedding_scale": False}),
        ("mbart", {"n_heads": HEADS, "embedding_scale": True}),
        ("mbart, relu", {"n_heads": HEADS, "embedding_scale": False, "activation": "relu"}),
        ("pegasus", {"n_heads": HEADS, "embedding_scale": True}),
        ("blenderbot", {"n_heads": HEADS, "embedding_scale": True}),
        ("m2m_100", {"n_heads": HEADS, "embedding_scale": True}),
        ("fsmt", {"n_heads": HEADS, "embedding_scale": True}),
    ],
)
def test_parity_without_config(tmp_path: Path, case: str, answers: dict[str, Any]) -> None:
    theirs = model_of(case)
    raw = raw_of(tmp_path, theirs.state_dict())
    ours, report = imported(raw, answers)
    assert report.family == family_of(case)
    asked = {question.name for question in report.questions}
    assert asked - {LAYOUT} == answers.keys() | {"activation"}
    # Blenderbot-small has BART's names; a Pegasus without config and position table has those of M2M-100.
    assert (LAYOUT in asked) == (report.family in ("bart", "m2m_100"))
    assert ours.config.max_len == (1024 if case == "m2m_100" else 19)
    if case.startswith("marian"):  # the files don't mention padding: it is usually the last id
        assert ours.config.pad_id == VOCAB - 1
    assert_parity(ours, theirs, start_id=start_of(case))


def test_a_blenderbot_small_is_asked_for_and_refused_by_what_is_missing(tmp_path: Path) -> None:
    theirs = tiny(transformers.BlenderbotSmallForConditionalGeneration, SIZES)
    raw = raw_of(tmp_path, theirs.state_dict())
    [question] = [question for question in plan_import(raw, {}).report.questions if question.name == LAYOUT]
    assert [option.value for option in question.options] == ["bart", "blenderbot-small"]
    with pytest.raises(CheckpointError, match="before it adds the positions"):
        plan_import(raw, {LAYOUT: "blenderbot-small"})
    assert_refused(tmp_path, theirs, {}, "before it adds the positions")


@pytest.mark.parametrize("bias", ["final_logits_bias", "lm_head.bias"])
def test_a_bias_of_the_logits_is_used_under_either_name(tmp_path: Path, bias: str) -> None:
    theirs = model_of("bart")
    weights = theirs.state_dict()
    weights[bias] = weights.pop("final_logits_bias").reshape((1, -1) if bias.startswith("final") else (-1,))
    ours, _ = imported(raw_of(tmp_path, weights, theirs.config.to_dict()))
    assert_parity(ours, theirs, start_id=2)


@pytest.mark.parametrize(
    "model_class", [transformers.PLBartForConditionalGeneration, transformers.MvpForConditionalGeneration]
)
def test_a_relative_of_bart_with_its_names_is_one(tmp_path: Path, model_class: Any) -> None:
    theirs = with_logits_bias(tiny(model_class, SIZES))
    ours, report = imported(saved(tmp_path, theirs))
    assert report.family == "bart"
    assert_parity(ours, theirs, start_id=2)


def test_zeros_fill_up_the_narrower_feed_forward_of_fsmt(tmp_path: Path) -> None:
    ours, report = imported(saved(tmp_path, model_of("fsmt, wide encoder")))
    assert ours.config.d_ff == 47
    assert any("the encoder's is 47 wide and the decoder's is 37 wide" in note for note in report.notes)
    weights = ours.state_dict()
    for i in range(ours.config.n_decoder_layers):
        feed_forward = f"decoder.layers.{i}.feed_forward"
        assert not weights[f"{feed_forward}.w_1.weight"][37:].any()
        assert not weights[f"{feed_forward}.w_2.weight"][:, 37:].any()


def test_a_model_alone_has_its_embedding_for_a_generator_and_no_bias(tmp_path: Path) -> None:
    theirs = model_of("bart")
    theirs.final_logits_bias.zero_()
    ours, _ = imported(raw_of(tmp_path, theirs.model.state_dict(), theirs.config.to_dict()))
    assert not ours.config.generator_bias
    assert_parity(ours, theirs, start_id=2)


@pytest.mark.parametrize("case", ["bart, untied", "mbart, untied", "marian, untied"])
def test_an_untied_model_alone_has_no_generator(tmp_path: Path, case: str) -> None:
    theirs = model_of(case)
    ours, report = imported(raw_of(tmp_path, theirs.model.state_dict(), theirs.config.to_dict()))
    assert not ours.config.has_generator
    assert any("predicts no words" in note for note in report.notes)
    src, tgt = random_ids(VOCAB, 2, 9), random_ids(VOCAB, 2, 7)
    with torch.no_grad():
        expected = theirs.model(input_ids=src, decoder_input_ids=tgt).last_hidden_state
        assert close(ours(src, tgt), expected)


def test_a_classifier_is_shown_without_its_head(tmp_path: Path) -> None:
    theirs = tiny(transformers.BartForSequenceClassification, SIZES)
    _, report = imported(saved(tmp_path, theirs))
    assert {key.name for key in report.keys.unused} >= {"classification_head.dense.weight"}


def test_the_oldest_files_have_marians_sinusoids(tmp_path: Path) -> None:
    theirs = model_of("marian")
    _, report = imported(saved(tmp_path, theirs))
    assert (
        "sinusoids"
        in {key.name: key.reason for key in report.keys.unused}["model.encoder.embed_positions.weight"]
    )
    weights = {name: w for name, w in theirs.state_dict().items() if "embed_positions" not in name}
    ours, _ = imported(raw_of(tmp_path, weights, theirs.config.to_dict()))
    assert_parity(ours, theirs, start_id=2)


@pytest.mark.parametrize(
    "case, attributes, words",
    [
        ("marian", {"decoder_attention_heads": 5}, "decoder_attention_heads 5"),
        ("marian", {"decoder_ffn_dim": 5}, "decoder_ffn_dim 5"),
        ("marian", {"static_position_embeddings": False}, "static_position_embeddings"),
        ("marian", {"normalize_embedding": True}, "normalize_embedding"),
        ("marian", {"activation_function": "tanh"}, "activation_function"),
        ("bart", {"normalize_before": True}, "normalize_before"),
        ("bart", {"extra_pos_embeddings": 7}, "extra_pos_embeddings"),
        ("bart", {"is_decoder": True}, "is_decoder"),
        ("bart", {"use_prompt": True}, "use_prompt"),
        ("mbart", {"add_final_layer_norm": False}, "add_final_layer_norm"),
        ("mbart", {"some_new_gate": 0.5}, "some_new_gate"),
        ("pegasus", {"normalize_before": False}, "normalize_before"),
        ("blenderbot", {"layernorm_variant": "xlm"}, "layernorm_variant"),
        ("blenderbot", {"extra_pos_embeddings": 2}, "extra_pos_embeddings"),
        ("fsmt", {"decoder_ffn_dim": 31}, "decoder's feed-forwards are 31 wide by decoder_ffn_dim, and 37"),
    ],
)
def test_a_configuration_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, case: str, attributes: dict[str, Any], words: str
) -> None:
    assert_refused(tmp_path, model_of(case), attributes, words)


@pytest.mark.parametrize(
    "case, attributes",
    [
        ("marian", {"normalize_before": False, "static_position_embeddings": True, "num_hidden_layers": 2}),
        ("bart", {"normalize_embedding": True, "extra_pos_embeddings": 2, "activation_dropout": 0.1}),
        ("bart", {"logits_bias": True}),
        ("mbart", {"normalize_before": True, "add_final_layer_norm": True, "save_step": 19}),
    ],
)
def test_what_the_oldest_files_say_besides_is_understood(
    tmp_path: Path, case: str, attributes: dict[str, Any]
) -> None:
    theirs = model_of(case)
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict(), theirs.config.to_dict() | attributes))
    assert_parity(ours, theirs, start_id=2)


def test_half_precision_weights_become_float32(tmp_path: Path) -> None:
    theirs = model_of("marian").to(torch.bfloat16)
    ours, _ = imported(saved(tmp_path, theirs))
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    assert_parity(ours, with_sinusoids(theirs.to(torch.float32)), start_id=2)
