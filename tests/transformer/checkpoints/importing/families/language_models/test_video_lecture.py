"""The GPT of Karpathy's lecture: each head has its own matrices."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Sample,
    Weights,
    compared,
    drawn,
    drawn_as,
    published,
    with_positions,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import KeyProblem
from transformer.errors import CheckpointError

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 43, 20, 5, 3, 13
D_HEAD = D_MODEL // HEADS
RULES = {
    "^tgt_embedding": "token_embedding_table",
    "^tgt_positions": "position_embedding_table.weight",
    "^generator": "lm_head",
    r"^decoder\.layers": "blocks",
    r"^decoder\.final_norm": "ln_f",
    "self_attn_norm": "ln1",
    "feed_forward_norm": "ln2",
    r"self_attn\.w_o": "sa.proj",
    r"feed_forward\.w_1": "ffwd.net.0",
    r"feed_forward\.w_2": "ffwd.net.2",
    "gamma$": "weight",
    "beta$": "bias",
}
MATRICES = {"w_q": "query", "w_k": "key", "w_v": "value"}


def sample(heads: int = HEADS, *, divided_by: str = "head") -> Sample:
    weights = drawn(
        d_model=D_MODEL, vocabularies=(0, VOCAB), depths=(0, LAYERS), final_norm=True,
        without=("*.w_[qkv].bias",),
    )  # fmt: skip
    weights = with_positions(weights, drawn_as({"table": (LENGTH, D_MODEL)})["table"])
    scale = (D_MODEL if divided_by == "model" else D_MODEL // heads) ** -0.5
    state_dict = published(weights, RULES, without=("*.w_[qkv].*",))
    for i in range(LAYERS):
        for ours, theirs in MATRICES.items():
            rows = weights[f"decoder.layers.{i}.self_attn.{ours}.weight"].chunk(heads)
            state_dict |= {f"blocks.{i}.sa.heads.{j}.{theirs}.weight": part for j, part in enumerate(rows)}
        masks = [f"blocks.{i}.sa.heads.{j}.tril" for j in range(heads)]
        state_dict |= {mask: torch.ones(LENGTH, LENGTH).tril() for mask in masks}
    theirs_computed = Reference(weights, Program(heads=heads, norm_first=True, score_scale=scale))
    return Sample("video_lecture", theirs_computed, state_dict, {"scores_divided_by": divided_by})


SAMPLES = {"video_lecture": sample}


@pytest.mark.parametrize("divided_by", ["head", "model"])
def test_parity(tmp_path: Path, divided_by: str) -> None:
    found = compared(tmp_path, sample(divided_by=divided_by))
    assert found.asked == {"scores_divided_by": divided_by, "activation": "relu"}
    assert {key.name for key in found.report.keys.unused} == {
        f"blocks.{i}.sa.heads.{j}.tril" for i in range(LAYERS) for j in range(HEADS)
    }


def test_ten_heads_and_more_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Sorted by name, head 10 would come before head 2."""
    theirs = sample(10)
    compared(tmp_path, theirs._replace(state_dict=dict(sorted(theirs.state_dict.items(), reverse=True))))


def only(problems: tuple[KeyProblem, ...]) -> KeyProblem:
    (problem,) = problems
    return problem


def test_heads_that_are_missing_or_of_another_shape_are_told_by_the_first(tmp_path: Path) -> None:
    state_dict = sample().state_dict

    def misshaped(changed: Weights) -> KeyProblem:
        return only(plan_import(raw_of(tmp_path, changed), {}).report.keys.misshaped)

    fewer = {name: w for name, w in state_dict.items() if name != "blocks.1.sa.heads.2.key.weight"}
    assert misshaped(fewer).name == "blocks.1.sa.heads.0.key.weight"
    assert "of 4 parts" in misshaped(fewer).detail
    wider = state_dict | {"blocks.0.sa.heads.3.value.weight": torch.zeros(D_HEAD, D_MODEL + 1)}
    assert misshaped(wider).name == "blocks.0.sa.heads.0.value.weight"
    none = {name: w for name, w in state_dict.items() if not (name[:8] == "blocks.1" and "query" in name)}
    missing = only(plan_import(raw_of(tmp_path, none), {}).report.keys.missing)
    assert missing.name == "blocks.1.sa.heads.0.query.weight"


def test_the_bigram_model_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="bigram"):
        plan_import(raw_of(tmp_path, {"token_embedding_table.weight": torch.zeros(VOCAB, VOCAB)}), {})
