"""The Transformer of "Dive into Deep Learning": norms after the sublayers, sinusoids not stored."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
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

PAD = 1
RULES = {
    "^src_embedding": "encoder.embedding",
    "^tgt_embedding": "decoder.embedding",
    "^generator": "decoder.dense",
    "self_attn_norm": "addnorm1.ln",
    "cross_attn_norm": "addnorm2.ln",
    "^encoder(.*)feed_forward_norm": r"encoder\1addnorm2.ln",
    "^decoder(.*)feed_forward_norm": r"decoder\1addnorm3.ln",
    "^encoder(.*)self_attn": r"encoder\1attention",
    "^decoder(.*)self_attn": r"decoder\1attention1",
    "cross_attn": "attention2",
    "w_([qkvo])": r"W_\1",
    r"feed_forward\.w_": "ffn.dense",
    "gamma$": "weight",
    "beta$": "bias",
}


def sample(*, bias: bool = False, named: bool = True, d_model: int = D_MODEL) -> Sample:
    """The book's blocks have names; copies number them."""
    weights = drawn(d_model=d_model, without=() if bias else ("*attn.w_?.bias",))
    weights = with_positions(weights, sinusoids(d_model=d_model))
    rules = RULES | {r"\.layers\.": ".blks.block" if named else ".blks."}
    program = Program(embedding_scale=math.sqrt(d_model), pad_id=PAD)
    state_dict = published(weights, rules, without=("*_positions",))
    return Sample("d2l", Reference(weights, program), state_dict, {"n_heads": HEADS, "pad_id": PAD})


SAMPLES = {"d2l": sample}


@pytest.mark.parametrize("bias, named", [(False, True), (True, False)])
def test_parity(tmp_path: Path, bias: bool, named: bool) -> None:
    theirs = sample(bias=bias, named=named)
    found = compared(tmp_path, theirs, positions="sinusoidal", attention_bias=bias)
    assert [*found.asked] == ["n_heads", "pad_id"]


def test_four_heads_are_likely(tmp_path: Path) -> None:
    assert plan_import(raw_of(tmp_path, sample(d_model=32).state_dict), {}).report.config.n_heads == 4
