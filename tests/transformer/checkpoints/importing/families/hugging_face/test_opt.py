"""OPT without its config.json, and which variants are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import OPTForCausalLM

from tests.transformer.checkpoints.importing.families.foreign import imported, random_ids, raw_of
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import (
    assert_refused,
    assert_same_logits,
    saved,
    tiny,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

VOCAB = 41
OPT = {
    "vocab_size": VOCAB,
    "hidden_size": 33,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "ffn_dim": 23,
    "max_position_embeddings": 29,
}


def opt(**changes: Any) -> Any:
    return tiny(OPTForCausalLM, OPT | changes)


def names(raw: Any) -> list[str]:
    return [question.name for question in plan_import(raw, {}).report.questions]


def test_without_config(tmp_path: Path) -> None:
    theirs = opt()
    raw = saved(tmp_path, theirs, with_config=False)
    assert names(raw) == ["n_heads", "activation"]
    ours, report = imported(raw, {"n_heads": 3})
    assert (ours.config.max_len, report.family) == (29, "opt")
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_without_config_and_final_norm_the_place_of_the_norms_is_asked(tmp_path: Path) -> None:
    theirs = opt(do_layer_norm_before=False)
    raw = saved(tmp_path, theirs, with_config=False)
    assert names(raw) == ["n_heads", "activation", "norm_position"]
    ours, _ = imported(raw, {"n_heads": 3})
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))
    assert imported(raw, {"norm_position": "pre"})[0].config.norm_position == "pre"


def test_a_model_alone_has_its_embedding_for_a_generator(tmp_path: Path) -> None:
    theirs = opt()
    ours, _ = imported(raw_of(tmp_path, theirs.model.decoder.state_dict(), theirs.config.to_dict()))
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_a_bias_of_the_generator_is_used(tmp_path: Path) -> None:
    theirs = opt()
    theirs.lm_head.bias = torch.nn.Parameter(torch.linspace(-1, 1, VOCAB))
    ours, _ = imported(saved(tmp_path, theirs))
    assert ours.config.generator_bias
    assert_same_logits(ours, theirs, random_ids(VOCAB, 2, 13))


def test_embeddings_narrower_than_the_model_are_refused(tmp_path: Path) -> None:
    theirs = opt(word_embed_proj_dim=17)
    for with_config in (True, False):
        with pytest.raises(CheckpointError, match=r"project_out.weight.* projected back"):
            plan_import(saved(tmp_path, theirs, with_config=with_config), {})
    assert_refused(tmp_path, opt(), {"word_embed_proj_dim": 17}, "word_embed_proj_dim 17")
