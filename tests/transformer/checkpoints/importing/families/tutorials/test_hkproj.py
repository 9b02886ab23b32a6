"""hkproj/pytorch-transformer: norms before the sublayers, with the unbiased deviation, in two versions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    MAX_LEN,
    Program,
    Reference,
    Sample,
    compared,
    drawn,
    published,
    sinusoids,
    with_positions,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint

PAD = 1
RULES = {
    "^(...)_embedding": r"\1_embed.embedding",
    "^(...)_positions": r"\1_pos.pe",
    "^generator": "projection_layer.proj",
    "self_attn_norm": "residual_connections.0.norm",
    "cross_attn_norm": "residual_connections.1.norm",
    "^encoder(.*)feed_forward_norm": r"encoder\1residual_connections.1.norm",
    "^decoder(.*)feed_forward_norm": r"decoder\1residual_connections.2.norm",
    "final_norm": "norm",
    "self_attn": "self_attention_block",
    "cross_attn": "cross_attention_block",
    r"feed_forward\.w_": "feed_forward_block.linear_",
    "gamma$": "alpha",
    "beta$": "bias",
}


def sample(*, first_version: bool = False) -> Sample:
    """The first version has scalar gamma and beta, attention biases and another name for cross-attention."""
    without = () if first_version else ("*attn.w_?.bias",)
    weights = with_positions(drawn(final_norm=True, without=without), sinusoids())
    if first_version:
        weights = {
            name: weight[:1].repeat(D_MODEL) if name.endswith(("gamma", "beta")) else weight
            for name, weight in weights.items()
        }
    state_dict = published(weights, RULES)
    for name in state_dict:
        if name.endswith("pos.pe"):
            state_dict[name] = state_dict[name][None]
    if first_version:
        state_dict = {
            name.replace("cross_attention_block", "source_attention_block"): weight[:1].clone()
            if "norm" in name
            else weight
            for name, weight in state_dict.items()
        }
    program = Program(
        norm_first=True, norm="unbiased", eps=1e-6, embedding_scale=math.sqrt(D_MODEL), pad_id=PAD
    )
    return Sample("hkproj", Reference(weights, program), state_dict, {"n_heads": HEADS, "pad_id": PAD})


SAMPLES = {"hkproj": sample, "hkproj, first version": lambda: sample(first_version=True)}


@pytest.mark.parametrize("first_version", [False, True])
def test_parity(tmp_path: Path, first_version: bool) -> None:
    found = compared(
        tmp_path, sample(first_version=first_version), max_len=MAX_LEN, attention_bias=first_version
    )
    assert [*found.asked] == ["n_heads", "pad_id"]


def test_the_trainers_file_opens(tmp_path: Path) -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    saved = {
        "epoch": 3,
        "model_state_dict": sample().state_dict,
        "optimizer_state_dict": torch.optim.Adam([parameter]).state_dict(),
        "global_step": 1200,
    }
    torch.save(saved, tmp_path / "tmodel_03.pt")
    opened = open_checkpoint(tmp_path / "tmodel_03.pt")
    assert opened.report.family == "hkproj"
    assert opened.loaded is not None
    assert not opened.report.keys.unexpected


def test_a_norm_of_another_width_does_not_fit(tmp_path: Path) -> None:
    name = "encoder.layers.1.residual_connections.0.norm.alpha"
    weights = sample().state_dict | {name: torch.ones(D_MODEL - 1)}
    (wrong,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert wrong.name == name
