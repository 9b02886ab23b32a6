"""Models with the same tensor names: the files or an answer decide which one it is, never a silent guess."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import GemmaForCausalLM, LlamaForCausalLM

from tests.transformer.checkpoints.importing.families.foreign import imported, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_same_logits,
    saved,
    tiny,
)
from transformer.analysis.doctor.layout import layout_findings
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import LAYOUT, ImportReport, Question
from transformer.errors import CheckpointError

VOCAB, LENGTH = 41, 29
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 60,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 37,
    "max_position_embeddings": LENGTH,
    "pad_token_id": 2,
}


def gemma() -> Any:
    return tiny(GemmaForCausalLM, SIZES | {"head_dim": 14})


def llama() -> Any:
    return tiny(LlamaForCausalLM, SIZES)


def asked(report: ImportReport) -> Question:
    return next(question for question in report.questions if question.name == LAYOUT)


def test_a_gemma_without_config_is_taken_for_one_by_its_norms(tmp_path: Path) -> None:
    theirs = gemma()
    ours, report = imported(saved(tmp_path, theirs, with_config=False), {"n_heads": 6})
    question = asked(report)
    assert (question.value, question.answered) == ("gemma", False)
    assert [option.value for option in question.options][:2] == ["gemma", "llama"]
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_the_answer_decides_how_the_same_tensors_are_read(tmp_path: Path) -> None:
    raw = saved(tmp_path, gemma(), with_config=False)
    configs = {layout: imported(raw, {LAYOUT: layout})[0].config for layout in ("gemma", "llama")}
    assert configs["gemma"].activation == "gelu_tanh"
    assert configs["llama"].activation == "silu"
    assert [configs[layout].embedding_scale for layout in ("gemma", "llama")] == [True, False]
    with pytest.raises(CheckpointError, match="not an answer to layout: choose one of gemma, llama"):
        plan_import(raw, {LAYOUT: "marian"})


def test_a_llama_without_config_is_asked_for_and_comes_first(tmp_path: Path) -> None:
    report = plan_import(saved(tmp_path, llama(), with_config=False), {}).report
    assert asked(report).value == report.family == "llama"
    assert asked(report).options[0].value == "llama"


def test_a_model_type_saved_beside_the_weights_comes_first(tmp_path: Path) -> None:
    raw = replace(saved(tmp_path, llama(), with_config=False), extras={"args": {"model_type": "gemma"}})
    assert asked(plan_import(raw, {}).report).value == "gemma"


def test_a_configuration_with_a_model_type_leaves_nothing_to_ask(tmp_path: Path) -> None:
    assert not plan_import(saved(tmp_path, gemma()), {}).report.questions
    with pytest.raises(CheckpointError, match="no question 'layout'"):
        plan_import(saved(tmp_path, gemma()), {LAYOUT: "gemma"})


def test_a_configuration_without_a_model_type_does(tmp_path: Path) -> None:
    theirs = gemma()
    config = {name: value for name, value in theirs.config.to_dict().items() if name != "model_type"}
    raw = raw_of(tmp_path, theirs.state_dict(), config)
    ours, report = imported(raw)
    assert [question.name for question in report.questions] == [LAYOUT]
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_the_doctor_warns_of_a_guess_and_names_the_others(tmp_path: Path) -> None:
    raw = saved(tmp_path, llama(), with_config=False)
    [guess] = layout_findings(plan_import(raw, {}).report)
    assert guess.severity == "warning"
    assert "Gemma" in guess.meaning
    assert LAYOUT in guess.advice
    [answered] = layout_findings(plan_import(raw, {LAYOUT: "llama"}).report)
    [told] = layout_findings(plan_import(saved(tmp_path, llama()), {}).report)
    assert answered.severity == told.severity == "ok"
