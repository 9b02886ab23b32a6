"""Decoders saved alone or for another task propose no words; those whose generator is the embedding do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    raw_of,
    trace_of,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_same_stack,
    outputs,
    tiny,
)
from tests.transformer.checkpoints.importing.families.hugging_face.test_decoders import GPT2, LLAMA, VOCAB

GPT2_ALONE = GPT2 | {"tie_word_embeddings": False}
TIED = LLAMA | {"tie_word_embeddings": True}
WITHOUT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2Model", "GPT2Config", GPT2),
    "gpt2, untied": ("GPT2Model", "GPT2Config", GPT2_ALONE),
    "gpt2, sentences": ("GPT2ForSequenceClassification", "GPT2Config", GPT2),
    "gpt2, tokens": ("GPT2ForTokenClassification", "GPT2Config", GPT2),
    "gpt2, answers": ("GPT2ForQuestionAnswering", "GPT2Config", GPT2),
    "llama": ("LlamaModel", "LlamaConfig", TIED),
    "llama, sentences": ("LlamaForSequenceClassification", "LlamaConfig", TIED),
    "llama, tokens": ("LlamaForTokenClassification", "LlamaConfig", TIED),
    "qwen3, sentences": ("Qwen3ForSequenceClassification", "Qwen3Config", TIED | {"head_dim": 10}),
}
ALONE = ("gpt2", "llama")  # without `architectures` nothing tells them from language models
WITH: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt2, two heads": ("GPT2DoubleHeadsModel", "GPT2Config", GPT2),
    "llama": ("LlamaForCausalLM", "LlamaConfig", TIED),
}


def model_of(names: tuple[str, str, dict[str, Any]]) -> Any:
    return tiny(getattr(transformers, names[0]), getattr(transformers, names[1]), **names[2])


@pytest.mark.parametrize(
    "case,named",
    [(case, True) for case in WITHOUT] + [(case, False) for case in WITHOUT if case not in ALONE],
)
def test_hidden_states_where_nothing_makes_words(tmp_path: Path, case: str, named: bool) -> None:
    theirs = model_of(WITHOUT[case])
    config = theirs.config.to_dict() | {"architectures": [WITHOUT[case][0]] if named else None}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict(), config))
    assert not ours.config.has_generator
    assert any("proposes no words" in note for note in report.notes)
    ids = random_ids(VOCAB, 2, 13)
    alone = getattr(theirs, theirs.base_model_prefix, theirs)
    assert_same_stack(trace_of(ours, None, ids), "decoder", outputs(alone, ids, ids >= 0), ids >= 0)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("case", WITH)
def test_a_tied_generator_that_was_not_saved_is_the_embedding(tmp_path: Path, case: str, named: bool) -> None:
    theirs = model_of(WITH[case])
    weights = {name: weight for name, weight in theirs.state_dict().items() if name != "lm_head.weight"}
    config = theirs.config.to_dict() | {"architectures": [WITH[case][0]] if named else None}
    ours, report = imported(raw_of(tmp_path, weights, config))
    assert not report.notes
    ids = random_ids(VOCAB, 2, 13)
    expected = outputs(theirs.transformer if case == "gpt2, two heads" else theirs, ids, ids >= 0)
    logits = expected.logits if "logits" in expected else theirs.lm_head(expected.last_hidden_state)
    assert close(trace_of(ours, None, ids)["logits"], logits)


def test_a_gpt2_classifier_without_config_proposes_no_words(tmp_path: Path) -> None:
    theirs = model_of(WITHOUT["gpt2, sentences"])
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": 3})
    assert not ours.config.has_generator
