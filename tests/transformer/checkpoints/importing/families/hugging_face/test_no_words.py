"""Decoders saved alone or for another task propose no words; tied language models do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from tests.transformer.checkpoints.importing.families.foreign import close, imported, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_decoders import (
    GPT2,
    LENGTH,
    LLAMA,
    VOCAB,
)
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_same_stack,
    outputs,
    tiny,
)
from tests.transformer.model.core import trace_of

TIED = LLAMA | {"tie_word_embeddings": True}
UNTIED: dict[str, tuple[Any, dict[str, Any]]] = {
    "llama": (transformers.LlamaModel, LLAMA),
    "qwen2": (transformers.Qwen2Model, LLAMA),
    "qwen3": (transformers.Qwen3Model, LLAMA),
    "mistral": (transformers.MistralModel, LLAMA),
    "llama, sentences": (transformers.LlamaForSequenceClassification, LLAMA),
    "llama, tokens": (transformers.LlamaForTokenClassification, LLAMA),
    "llama, answers": (transformers.LlamaForQuestionAnswering, LLAMA),
}
WITHOUT: dict[str, tuple[Any, dict[str, Any]]] = {
    "gpt2": (transformers.GPT2Model, GPT2),
    "gpt2, untied": (transformers.GPT2Model, GPT2 | {"tie_word_embeddings": False}),
    "gpt2, sentences": (transformers.GPT2ForSequenceClassification, GPT2),
    "gpt2, tokens": (transformers.GPT2ForTokenClassification, GPT2),
    "gpt2, answers": (transformers.GPT2ForQuestionAnswering, GPT2),
    "llama, tied": (transformers.LlamaModel, TIED),
    "llama, tied, sentences": (transformers.LlamaForSequenceClassification, TIED),
    "llama, tied, tokens": (transformers.LlamaForTokenClassification, TIED),
    "qwen3, tied, sentences": (transformers.Qwen3ForSequenceClassification, TIED | {"head_dim": 10}),
    **UNTIED,
}
UNNAMED = [case for case in WITHOUT if case not in ("gpt2", "llama, tied", *UNTIED)]
"""Cases distinguished from language models even if the configuration names no architecture."""
WITH: dict[str, tuple[Any, dict[str, Any]]] = {
    "gpt2": (transformers.GPT2LMHeadModel, GPT2),
    "gpt2, two heads": (transformers.GPT2DoubleHeadsModel, GPT2),
    "llama": (transformers.LlamaForCausalLM, TIED),
}


def config_of(theirs: Any, named: bool) -> dict[str, Any]:
    return theirs.config.to_dict() | {"architectures": [type(theirs).__name__] if named else None}


@pytest.mark.parametrize(
    "case, told",
    [
        *[(case, "with its architecture") for case in WITHOUT],
        *[(case, "without its architecture") for case in UNNAMED],
        *[(case, "without a configuration") for case in UNTIED],
    ],
)
def test_hidden_states_where_nothing_makes_words(tmp_path: Path, case: str, told: str) -> None:
    theirs = tiny(*WITHOUT[case])
    config = config_of(theirs, told == "with its architecture")
    answers: dict[str, Any] = {}
    if told == "without a configuration":
        answers = {"norm_eps": 1e-6, "max_len": LENGTH}
        answers |= {} if case == "qwen3" else {"n_heads": 6}  # its norms reveal the heads
    raw = raw_of(tmp_path, theirs.state_dict(), None if answers else config)
    ours, report = imported(raw, answers)
    assert not ours.config.has_generator
    assert any("predicts no words" in note for note in report.notes)
    ids = random_ids(VOCAB, 2, 13)
    alone = getattr(theirs, theirs.base_model_prefix, theirs)
    assert_same_stack(trace_of(ours, None, ids), "decoder", outputs(alone, ids, ids >= 0), ids >= 0)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("case", WITH)
def test_a_tied_generator_that_was_not_saved_is_the_embedding(tmp_path: Path, case: str, named: bool) -> None:
    theirs = tiny(*WITH[case])
    weights = {name: weight for name, weight in theirs.state_dict().items() if name != "lm_head.weight"}
    ours, report = imported(raw_of(tmp_path, weights, config_of(theirs, named)))
    assert not report.notes
    ids = random_ids(VOCAB, 2, 13)
    expected = outputs(theirs.transformer if case == "gpt2, two heads" else theirs, ids, ids >= 0)
    logits = expected.logits if "logits" in expected else theirs.lm_head(expected.last_hidden_state)
    assert close(trace_of(ours, None, ids)["logits"], logits)


def test_a_gpt2_classifier_without_config_proposes_no_words(tmp_path: Path) -> None:
    theirs = tiny(transformers.GPT2ForSequenceClassification, GPT2)
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": 3})
    assert not ours.config.has_generator
