"""aladdinpersson's Transformer from scratch: heads that share matrices, scores scaled by d_model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

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
    drawn_as,
    published,
    with_positions,
)
from transformer.checkpoints.importing.layout.operations import Stored
from transformer.checkpoints.importing.recognition import plan_import
from transformer.model.config import TransformerConfig

PAD, D_HEAD = 0, D_MODEL // HEADS
RULES = {
    "^src_embedding": "encoder.word_embedding",
    "^tgt_embedding": "decoder.word_embedding",
    "^src_positions": "encoder.position_embedding.weight",
    "^tgt_positions": "decoder.position_embedding.weight",
    "^generator": "decoder.fc_out",
    "^encoder(.*)self_attn_norm": r"encoder\1norm1",
    "^decoder(.*)self_attn_norm": r"decoder\1norm",
    "cross_attn_norm": "transformer_block.norm1",
    "^encoder(.*)feed_forward_norm": r"encoder\1norm2",
    "^decoder(.*)feed_forward_norm": r"decoder\1transformer_block.norm2",
    "self_attn": "attention",
    "cross_attn": "transformer_block.attention",
    "w_q": "queries",
    "w_k": "keys",
    "w_v": "values",
    "w_o": "fc_out",
    r"^encoder(.*)feed_forward\.w_1": r"encoder\1feed_forward.0",
    r"^encoder(.*)feed_forward\.w_2": r"encoder\1feed_forward.2",
    r"^decoder(.*)feed_forward\.w_1": r"decoder\1transformer_block.feed_forward.0",
    r"^decoder(.*)feed_forward\.w_2": r"decoder\1transformer_block.feed_forward.2",
    "gamma$": "weight",
    "beta$": "bias",
}
OF_HEADS = re.compile(r".*attn\.w_[qkv]\.(weight|bias)")


def sample(*, shared: bool = True, bias: bool = False, divided_by: str = "model") -> Sample:
    """Published versions: one matrix shared by all heads, or full-width ones; each with or without biases."""
    weights = drawn(without=() if bias else ("*attn.w_[qkv].bias",))
    own = {name: weight for name, weight in weights.items() if shared and OF_HEADS.fullmatch(name)}
    if own:
        own = {
            name: weight[:D_HEAD, :D_HEAD] if weight.dim() == 2 else weight[:D_HEAD]
            for name, weight in own.items()
        }
    stored = with_positions(weights | own, drawn_as({"table": (MAX_LEN, D_MODEL)})["table"])
    used = stored | {
        name: torch.block_diag(*[block] * HEADS) if block.dim() == 2 else block.repeat(HEADS)
        for name, block in own.items()
    }
    width = D_MODEL if divided_by == "model" else D_HEAD
    theirs = Reference(used, Program(score_scale=width**-0.5, pad_id=PAD))
    answers: dict[str, Any] = {"scores_divided_by": divided_by, "pad_id": PAD}
    answers |= {} if shared else {"n_heads": HEADS}
    return Sample("aladdinpersson", theirs, published(stored, RULES), answers)


SAMPLES = {"aladdinpersson": sample}


@pytest.mark.parametrize("bias, divided_by", [(False, "model"), (True, "model"), (False, "head")])
def test_matrices_that_heads_share(tmp_path: Path, divided_by: str, bias: bool) -> None:
    found = compared(tmp_path, sample(bias=bias, divided_by=divided_by), n_heads=HEADS)
    assert [*found.asked] == ["scores_divided_by", "pad_id"]
    assert any("share their matrices" in note for note in found.report.notes)


@pytest.mark.parametrize("divided_by", ["model", "head"])
def test_matrices_as_wide_as_the_model(tmp_path: Path, divided_by: str) -> None:
    found = compared(tmp_path, sample(shared=False, bias=True, divided_by=divided_by))
    assert [*found.asked] == ["n_heads", "scores_divided_by", "pad_id"]
    assert not found.report.notes


def test_the_originals_scale_is_assumed_and_matrices_of_another_shape_do_not_fit(tmp_path: Path) -> None:
    state_dict = sample().state_dict
    report = plan_import(raw_of(tmp_path, state_dict), {}).report
    assert report.config.attention_scale == pytest.approx(D_MODEL**-0.5)
    name = "decoder.layers.1.attention.keys.weight"
    for shape in ((), (5,), (5, 5), (D_HEAD, D_HEAD, 2), (D_MODEL + 1, D_MODEL)):
        planned = plan_import(raw_of(tmp_path, state_dict | {name: torch.ones(shape)}), {})
        assert [key.name for key in planned.report.keys.misshaped] == [name], shape


def test_blocks_stand_on_the_diagonal() -> None:
    config = TransformerConfig(
        src_vocab_size=5, tgt_vocab_size=0, d_model=6, n_heads=3, n_encoder_layers=1, n_decoder_layers=0,
        d_ff=7, max_len=8,
    )  # fmt: skip
    block = torch.arange(1.0, 5).view(2, 2)
    (matrix,) = Stored((("once_per_head", None),), ("encoder.layers.0.self_attn.w_q.weight",))(block, config)
    assert torch.equal(matrix, torch.block_diag(block, block, block))
