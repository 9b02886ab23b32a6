"""BERT and its kin: logits, attention and hidden states match Hugging Face's models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers
from torch import Tensor
from transformers import BertForMaskedLM, RobertaForMaskedLM, RobertaModel

from tests.support.crosses import slow_variants
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
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import LAYOUT, ImportReport
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer

VOCAB, D_MODEL, HEADS, LAYERS, D_FF, LENGTH = 41, 33, 3, 3, 37, 19
BERT = {
    "vocab_size": VOCAB,
    "hidden_size": D_MODEL,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": D_FF,
    "max_position_embeddings": LENGTH,
    "type_vocab_size": 2,
}
ROBERTA = BERT | {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
ERNIE = BERT | {"type_vocab_size": 4, "use_task_id": True, "task_type_vocab_size": 3}
NARROW = BERT | {"embedding_size": 14}
ALBERT = NARROW | {"num_hidden_layers": 5}
DISTILBERT = {
    "vocab_size": VOCAB,
    "dim": D_MODEL,
    "n_layers": LAYERS,
    "n_heads": HEADS,
    "hidden_dim": D_FF,
    "max_position_embeddings": LENGTH,
}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "bert": (BertForMaskedLM, BERT),
    "bert with relu": (BertForMaskedLM, BERT | {"hidden_act": "relu", "layer_norm_eps": 1e-3}),
    "bert, untied": (BertForMaskedLM, BERT | {"tie_word_embeddings": False}),
    "bert before training": (transformers.BertForPreTraining, BERT),
    "roberta, untied": (RobertaForMaskedLM, ROBERTA | {"tie_word_embeddings": False}),
    "roberta": (RobertaForMaskedLM, ROBERTA),
    "ernie": (transformers.ErnieForMaskedLM, ERNIE),
    "ernie without tasks": (transformers.ErnieForMaskedLM, BERT),
    "ernie before training": (transformers.ErnieForPreTraining, ERNIE | {"tie_word_embeddings": False}),
    "electra": (transformers.ElectraForMaskedLM, NARROW),
    "electra, wide": (transformers.ElectraForMaskedLM, BERT | {"embedding_size": D_MODEL}),
    "electra, untied": (transformers.ElectraForMaskedLM, NARROW | {"tie_word_embeddings": False}),
    "albert": (transformers.AlbertForMaskedLM, ALBERT),
    "albert, untied": (transformers.AlbertForMaskedLM, ALBERT | {"tie_word_embeddings": False}),
    "albert before training": (transformers.AlbertForPreTraining, ALBERT | {"hidden_act": "relu"}),
    "distilbert": (transformers.DistilBertForMaskedLM, DISTILBERT),
    "distilbert with relu": (transformers.DistilBertForMaskedLM, DISTILBERT | {"activation": "relu"}),
}
HEADLESS: dict[str, tuple[Any, dict[str, Any]]] = {
    "bert": (transformers.BertModel, BERT),
    "bert, classifier": (transformers.BertForSequenceClassification, BERT),
    "roberta": (RobertaModel, ROBERTA),
    "roberta with relu": (RobertaModel, ROBERTA | {"hidden_act": "relu"}),
    "ernie": (transformers.ErnieModel, ERNIE),
    "electra": (transformers.ElectraModel, NARROW),
    "electra, discriminator": (transformers.ElectraForPreTraining, NARROW | {"hidden_act": "relu"}),
    "albert": (transformers.AlbertModel, ALBERT),
    "roberta, tokens": (transformers.RobertaForTokenClassification, ROBERTA),
    "distilbert": (transformers.DistilBertModel, DISTILBERT),
}


def family_of(case: str) -> str:
    return case.replace(",", "").split(" ")[0]


def pad_of(case: str) -> int:
    return 1 if case.startswith("roberta") else 0


def batch(pad_id: int) -> tuple[Tensor, Tensor]:
    ids = padded(random_ids(VOCAB, 2, 11), pad_id, 7)
    return ids, ids != pad_id


@pytest.mark.parametrize("case", slow_variants(CASES))
def test_parity(tmp_path: Path, case: str) -> None:
    theirs = tiny(*CASES[case])
    ours, report = imported(saved(tmp_path, theirs))
    assert report.family == family_of(case)
    assert not report.questions
    assert_parity(ours, theirs, pad_of(case))


@pytest.mark.parametrize(
    "case,answers",
    [
        ("bert", {"n_heads": HEADS}),
        ("bert with relu", {"n_heads": HEADS, "activation": "relu", "norm_eps": 1e-3}),
        ("roberta", {"n_heads": HEADS, "norm_eps": 1e-5}),
        ("ernie", {"n_heads": HEADS}),
        ("electra", {"n_heads": HEADS}),
        ("electra, wide", {"n_heads": HEADS}),
        ("albert", {"n_heads": HEADS, "n_encoder_layers": 5}),
        ("ernie without tasks", {"n_heads": HEADS}),
        ("distilbert", {"n_heads": HEADS}),
        ("distilbert with relu", {"n_heads": HEADS, "activation": "relu"}),
    ],
)
def test_parity_without_config(tmp_path: Path, case: str, answers: dict[str, Any]) -> None:
    theirs = tiny(*CASES[case])
    ours, report = imported(saved(tmp_path, theirs, with_config=False), answers)
    assert report.family == family_of(case)
    assert {question.name for question in report.questions} >= answers.keys()
    assert LAYOUT not in {question.name for question in report.questions}, "their names tell"
    assert_parity(ours, theirs, pad_of(case))


def assert_parity(ours: Transformer, theirs: Any, pad_id: int) -> None:
    assert ours.config.pad_id == pad_id
    ids, words = batch(pad_id)
    expected = outputs(theirs, ids, words)
    trace = trace_of(ours, ids, None)
    logits = expected.prediction_logits if "prediction_logits" in expected else expected.logits
    assert close(trace["logits"][words], logits[words])
    assert_same_stack(trace, "encoder", expected, words)


@pytest.mark.parametrize("case", HEADLESS)
def test_parity_without_a_language_model_head(tmp_path: Path, case: str) -> None:
    theirs = tiny(*HEADLESS[case])
    ours, report = imported(saved(tmp_path, theirs))
    assert not ours.config.has_generator
    assert any("no masked-language-model head" in note for note in report.notes)
    ids, words = batch(pad_of(case))
    assert_same_stack(trace_of(ours, ids, None), "encoder", outputs(theirs, ids, words), words)


@pytest.mark.parametrize("segments, length", [(1, LENGTH), (2, 514)])
def test_a_bare_roberta_without_config_is_likely_by_its_sizes(
    tmp_path: Path, segments: int, length: int
) -> None:
    sizes = ROBERTA | {"type_vocab_size": segments, "max_position_embeddings": length}
    theirs = tiny(RobertaModel, sizes)
    raw = saved(tmp_path, theirs, with_config=False)
    ours, report = imported(raw, {"n_heads": HEADS})
    assert layouts(report) == ["roberta", "bert"]
    assert ours.config.norm_eps == 1e-5, "as every published one has it"
    ids, words = batch(1)
    assert_same_stack(trace_of(ours, ids, None), "encoder", outputs(theirs, ids, words), words)


@pytest.mark.parametrize("case", ["bert", "roberta with relu"])
def test_a_bare_encoder_without_config_is_asked_for(tmp_path: Path, case: str) -> None:
    theirs = tiny(HEADLESS[case][0], HEADLESS[case][1] | {"type_vocab_size": 2})
    raw = saved(tmp_path, theirs, with_config=False)
    assert layouts(plan_import(raw, {}).report) == ["bert", "roberta"]
    answers = {LAYOUT: family_of(case), "n_heads": HEADS, "norm_eps": theirs.config.layer_norm_eps}
    ours, report = imported(raw, answers | {"activation": theirs.config.hidden_act})
    assert report.family == family_of(case)
    ids, words = batch(pad_of(case))
    assert_same_stack(trace_of(ours, ids, None), "encoder", outputs(theirs, ids, words), words)


def layouts(report: ImportReport) -> list[str]:
    """The layouts that the question offers, the likely one first."""
    [question] = [question for question in report.questions if question.name == LAYOUT]
    return [option.value for option in question.options]


def test_vectors_of_tasks_are_used_as_config_json_says(tmp_path: Path) -> None:
    theirs = tiny(transformers.ErnieForMaskedLM, ERNIE)
    unset = theirs.config.to_dict() | {"use_task_id": False}
    _, report = imported(raw_of(tmp_path, theirs.state_dict(), unset))
    reasons = {key.name: key.reason for key in report.keys.unused}
    assert "use_task_id" in reasons["ernie.embeddings.task_type_embeddings.weight"]
    assert_refused(tmp_path, tiny(transformers.ErnieForMaskedLM, BERT), {"use_task_id": True}, "use_task_id")


def test_the_discriminators_head_is_told_with_its_reason(tmp_path: Path) -> None:
    theirs = tiny(*HEADLESS["electra, discriminator"])
    _, report = imported(saved(tmp_path, theirs))
    reasons = {key.name: key.reason for key in report.keys.unused}
    assert "replaced" in reasons["discriminator_predictions.dense_prediction.weight"]


@pytest.mark.parametrize("told", [{"num_hidden_groups": 5}, {"inner_group_num": 2}])
def test_an_albert_of_several_layers_is_refused(tmp_path: Path, told: dict[str, Any]) -> None:
    raw = saved(tmp_path, tiny(transformers.AlbertForMaskedLM, ALBERT | told), with_config=False)
    with pytest.raises(CheckpointError, match="several groups of layers, or several layers in a group"):
        plan_import(raw, {})
    assert_refused(tmp_path, tiny(*CASES["albert"]), told, next(iter(told)))


@pytest.mark.parametrize(
    "model_class, words",
    [
        (transformers.NystromformerForMaskedLM, "'nystromformer', which has attention approximated by"),
        (transformers.YosoForMaskedLM, "'yoso', which has attention sampled by hashing"),
        (transformers.LukeForMaskedLM, "'luke', which has entities"),
    ],
)
def test_a_model_with_the_names_of_bert_is_refused_by_what_it_has(
    tmp_path: Path, model_class: Any, words: str
) -> None:
    theirs = tiny(model_class, BERT | {"entity_vocab_size": 5})  # the default of Luke is 500,000
    for with_config in (True, False):
        with pytest.raises(CheckpointError, match=words):
            plan_import(saved(tmp_path, theirs, with_config=with_config), {})


def test_the_number_of_alberts_layers_is_asked_for_by_its_width(tmp_path: Path) -> None:
    wide = ALBERT | {"hidden_size": 1024, "num_attention_heads": 16}
    for config, likely in ((ALBERT, 12), (wide, 24)):
        theirs = tiny(transformers.AlbertForMaskedLM, config)
        report = plan_import(saved(tmp_path, theirs, with_config=False), {}).report
        asked = {question.name: question for question in report.questions}
        assert asked["n_encoder_layers"].value == report.config.n_encoder_layers == likely
        assert asked["activation"].value == "gelu_tanh"


def test_the_oldest_files_call_norms_weights_gamma_and_beta(tmp_path: Path) -> None:
    theirs = tiny(*CASES["bert"])
    raw = saved(tmp_path, theirs)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): stored
        for name, stored in raw.tensors.items()
    }
    assert old.keys() != raw.tensors.keys()
    ours, _ = imported(replace(raw, tensors={name: replace(s, name=name) for name, s in old.items()}))
    ids, words = batch(0)
    assert close(trace_of(ours, ids, None)["logits"][words], outputs(theirs, ids, words).logits[words])


def test_what_is_not_used_is_told_with_its_reason(tmp_path: Path) -> None:
    theirs = tiny(*CASES["bert before training"])
    _, report = imported(saved(tmp_path, theirs))
    unused = {key.name: key.reason for key in report.keys.unused}
    assert "pooler" in unused["bert.pooler.dense.weight"]
    assert "two sentences" in unused["cls.seq_relationship.bias"]
    assert {(key.name, key.to) for key in report.keys.tied} == {
        ("cls.predictions.bias", "cls.predictions.decoder.bias"),
        ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
    }


@pytest.mark.parametrize(
    "case,bias", [("bert, untied", "cls.predictions.bias"), ("roberta, untied", "lm_head.bias")]
)
def test_what_an_untied_head_does_not_use_is_no_copy(tmp_path: Path, case: str, bias: str) -> None:
    _, report = imported(saved(tmp_path, tiny(*CASES[case])))
    assert not report.keys.tied
    assert "a bias of its own" in {key.name: key.reason for key in report.keys.unused}[bias]


@pytest.mark.parametrize("case", ["roberta", "electra"])
def test_a_head_with_another_activation_than_the_layers_is_refused(tmp_path: Path, case: str) -> None:
    theirs = tiny(CASES[case][0], CASES[case][1] | {"hidden_act": "relu"})
    with pytest.raises(CheckpointError, match="hidden_act 'relu'"):
        plan_import(saved(tmp_path, theirs), {})


@pytest.mark.parametrize(
    "attribute,value,words",
    [
        ("position_embedding_type", "relative_key", "position_embedding_type"),
        ("is_decoder", True, "is_decoder"),
        ("hidden_act", "quick_gelu", "hidden_act"),
        ("some_new_gate", 0.5, "some_new_gate"),
        ("hidden_size", "33", "hidden_size"),
        ("num_hidden_layers", 10**9, "num_hidden_layers"),
        ("num_attention_heads", 0, "n_heads"),
        ("vocab_size", -3, "src_vocab_size"),
        # They have BERT's names, but norms elsewhere or other positions.
        ("model_type", "megatron-bert", "megatron-bert"),
        ("model_type", "nezha", "nezha"),
        ("model_type", "big_bird", "big_bird"),
    ],
)
def test_a_configuration_that_ours_does_not_compute_is_refused_by_name(
    tmp_path: Path, attribute: str, value: object, words: str
) -> None:
    assert_refused(tmp_path, tiny(*CASES["bert"]), {attribute: value}, words)
