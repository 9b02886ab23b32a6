"""Encoders with rotary positions, windows or norms in other places: numbers match Hugging Face's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
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
    assert_same_stack,
    outputs,
    saved,
    tiny,
)
from tests.transformer.model.core import trace_of
from transformer.model.transformer import Transformer

VOCAB, LENGTH, PAD = 41, 29, 2
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 42,
    "num_hidden_layers": 5,
    "num_attention_heads": 3,
    "intermediate_size": 37,
    "max_position_embeddings": LENGTH,
    "pad_token_id": PAD,
}
MODERN = SIZES | {"local_attention": 7}
MODERN |= dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
ROFORMER = SIZES | {"pad_token_id": 0, "type_vocab_size": 2}
ROBERTA = SIZES | {"pad_token_id": 1, "layer_norm_eps": 1e-5}
ESM = ROBERTA | {"mask_token_id": 2, "position_embedding_type": "rotary", "token_dropout": True}
EUROBERT = SIZES | {"num_key_value_heads": 1, "head_dim": 14, "bos_token_id": 1, "eos_token_id": 1}
XLM = {
    "vocab_size": VOCAB,
    "emb_dim": 42,
    "n_layers": 3,
    "n_heads": 3,
    "max_position_embeddings": LENGTH,
    "pad_index": PAD,
    "pad_token_id": PAD,
}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "modernbert": (transformers.ModernBertForMaskedLM, MODERN),
    "modernbert, with biases": (
        transformers.ModernBertForMaskedLM,
        MODERN | {"norm_bias": True, "mlp_bias": True, "attention_bias": True, "classifier_bias": True},
    ),
    "roformer": (transformers.RoFormerForMaskedLM, ROFORMER),
    "roformer, narrow, untied": (
        transformers.RoFormerForMaskedLM,
        ROFORMER | {"embedding_size": 14, "hidden_act": "relu", "tie_word_embeddings": False},
    ),
    "modernbert, bias of the head": (transformers.ModernBertForMaskedLM, MODERN | {"classifier_bias": True}),
    "roberta": (transformers.Data2VecTextForMaskedLM, ROBERTA),
    "roberta-prelayernorm": (transformers.RobertaPreLayerNormForMaskedLM, ROBERTA),
    "xlm-roberta-xl": (transformers.XLMRobertaXLForMaskedLM, ROBERTA),
    "megatron-bert": (transformers.MegatronBertForMaskedLM, ROFORMER),
    "esm": (transformers.EsmForMaskedLM, ESM),
    "esm, a table of positions": (
        transformers.EsmForMaskedLM,
        ESM | {"position_embedding_type": "absolute", "emb_layer_norm_before": True, "token_dropout": False},
    ),
    "nomic_bert": (transformers.NomicBertForMaskedLM, ROFORMER),
    "eurobert": (transformers.EuroBertForMaskedLM, EUROBERT),
    "xlm": (transformers.XLMWithLMHeadModel, XLM | {"n_langs": 3}),
    "xlm, relu": (transformers.XLMWithLMHeadModel, XLM | {"gelu_activation": False}),
    "xlm, flaubert": (transformers.FlaubertWithLMHeadModel, XLM),
}
HEADLESS: dict[str, tuple[Any, dict[str, Any]]] = {
    "modernbert": (transformers.ModernBertModel, MODERN),
    "modernbert, classifier": (transformers.ModernBertForSequenceClassification, MODERN),
    "roformer": (transformers.RoFormerModel, ROFORMER),
    "megatron-bert": (transformers.MegatronBertModel, ROFORMER),
    "esm": (transformers.EsmModel, ESM),
    "nomic_bert": (transformers.NomicBertModel, ROFORMER),
    "eurobert": (transformers.EuroBertModel, EUROBERT),
    "xlm": (transformers.XLMModel, XLM),
}


def model_of(cases: dict[str, tuple[Any, dict[str, Any]]], case: str, **told: Any) -> Any:
    """A random model; the table of RoFormer's rotation is restored."""
    theirs = tiny(cases[case][0], cases[case][1] | told)
    for module in theirs.modules():
        if hasattr(module, "create_weight"):
            module.weight.data = module.create_weight()
    return theirs


def batch(pad_id: int) -> tuple[Tensor, Tensor]:
    ids = padded(random_ids(VOCAB, 2, 17), pad_id, 11)
    return ids, ids != pad_id


def assert_parity(ours: Transformer, theirs: Any) -> None:
    ids, words = batch(theirs.config.pad_token_id)
    expected, trace = outputs(theirs, ids, words), trace_of(ours, ids, None)
    if ours.config.has_generator:
        assert close(trace["logits"][words], expected.logits[words])
    assert_same_stack(trace, "encoder", expected, words)


@pytest.mark.parametrize("case", CASES)
def test_parity(tmp_path: Path, case: str) -> None:
    theirs = model_of(CASES, case)
    ours, report = imported(saved(tmp_path, theirs))
    assert (report.family, report.questions) == (case.split(",")[0], ())
    assert_parity(ours, theirs)


@pytest.mark.parametrize("case", HEADLESS)
def test_parity_without_a_head(tmp_path: Path, case: str) -> None:
    theirs = model_of(HEADLESS, case)
    ours, report = imported(saved(tmp_path, theirs))
    assert not ours.config.has_generator
    assert any("no masked-language-model head" in note for note in report.notes)
    assert_parity(ours, theirs)


@pytest.mark.parametrize(
    "case, told",
    [
        ("modernbert", {"local_attention": 128, "pad_token_id": 0}),
        ("roformer", {}),
        ("roberta-prelayernorm", {}),
        ("xlm-roberta-xl", {}),
        ("megatron-bert", {}),
        ("esm", {}),
        ("nomic_bert", {}),
        ("xlm", {}),
    ],
)
def test_parity_without_config(tmp_path: Path, case: str, told: dict[str, Any]) -> None:
    theirs = model_of(CASES, case, **told)
    ours, report = imported(saved(tmp_path, theirs, with_config=False), {"n_heads": 3})
    assert report.family == case
    ids = random_ids(VOCAB, 2, 17)
    assert close(trace_of(ours, ids, None)["logits"], outputs(theirs, ids, ids >= 0).logits)


def test_the_first_modernberts_say_bases_and_windows_in_other_words(tmp_path: Path) -> None:
    theirs = tiny(transformers.ModernBertForMaskedLM, MODERN)
    config = theirs.config.to_dict()
    for name in ("layer_types", "rope_parameters"):
        del config[name]
    config |= {"global_attn_every_n_layers": 3, "global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict(), config))
    assert_parity(ours, theirs)
    bases, windows = ours.config.position_bases, ours.config.attention_windows
    assert bases == tuple(160_000.0 if i % 3 == 0 else 10_000.0 for i in range(5))
    assert windows == tuple(0 if i % 3 == 0 else 4 for i in range(5))


@pytest.mark.parametrize(
    "case, told, words",
    [
        ("modernbert", {"classifier_activation": "relu"}, "classifier_activation 'relu'"),
        ("modernbert", {"hidden_activation": "silu"}, "hidden_activation 'silu'"),
        ("modernbert", {"some_new_gate": 0.5}, "some_new_gate"),
        ("roformer", {"rotary_value": True}, "rotary_value"),
        ("xlm", {"causal": True}, "causal True"),
        ("xlm, flaubert", {"pre_norm": True}, "pre_norm True"),
        ("esm", {"emb_layer_norm_before": True}, "emb_layer_norm_before"),
    ],
)
def test_a_configuration_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, case: str, told: dict[str, Any], words: str
) -> None:
    assert_refused(tmp_path, model_of(CASES, case), told, words)


@pytest.mark.parametrize("windows", [4, [4, 8, 4, 8, 8]])
@pytest.mark.parametrize("model_class", [transformers.LongformerForMaskedLM, transformers.LongformerModel])
def test_a_longformer_sees_a_window_in_each_layer(tmp_path: Path, model_class: Any, windows: Any) -> None:
    theirs = tiny(model_class, ROBERTA | {"attention_window": windows, "max_position_embeddings": 43})
    ours, report = imported(saved(tmp_path, theirs))
    assert (report.family, report.questions) == ("longformer", ())
    ids, words = batch(1)
    expected, trace = outputs(theirs, ids, words), trace_of(ours, ids, None)
    if ours.config.has_generator:
        assert close(trace["logits"][words], expected.logits[words])
    for i, theirs_in_layer in enumerate(expected.attentions):
        weights = trace.attention("encoder", i, "self_attn").weights
        for row, query, head in ((0, 0, 0), (0, 9, 1), (1, 5, 2)):
            assert close(
                weights[row, head, query], _from_band(theirs_in_layer[row, head, query], query, ids.shape[1])
            )
        assert close(trace[f"encoder.layers.{i}.resid_post"][words], expected.hidden_states[i + 1][words])


def _from_band(band: Tensor, query: int, n: int) -> Tensor:
    """A query's weights (n,) of all keys, from those of the keys around it (window + 1,)."""
    one_side = len(band) // 2
    weights = band.new_zeros(n)
    for key in range(max(0, query - one_side), min(n, query + one_side + 1)):
        weights[key] = band[key - query + one_side]
    return weights
