"""labml.ai's annotated transformers: norms before the sublayers; both stacks, or encoder layers alone."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    MAX_LEN,
    Program,
    Reference,
    Sample,
    Weights,
    compared,
    drawn,
    drawn_as,
    published,
    sinusoids,
    with_positions,
)

PAD = 0
RULES = {
    "^(...)_embedding": r"\1_embed.linear",
    "^(...)_positions": r"\1_embed.positional_encodings",
    "^generator": "generator.projection",
    "self_attn_norm": "norm_self_attn",
    "cross_attn_norm": "norm_src_attn",
    "feed_forward_norm": "norm_ff",
    "final_norm": "norm",
    r"cross_attn\.": "src_attn.",
    "w_q": "query.linear",
    "w_k": "key.linear",
    "w_v": "value.linear",
    "w_o": "output",
    r"feed_forward\.w_3": "feed_forward.linear_v",
    r"feed_forward\.w_": "feed_forward.layer",
    "gamma$": "weight",
    "beta$": "bias",
}
PROGRAM = Program(norm_first=True, embedding_scale=math.sqrt(D_MODEL), pad_id=PAD)
ANSWERS = {"n_heads": HEADS, "pad_id": PAD}


def saved(weights: Weights) -> Weights:
    state_dict = published(weights, RULES)
    return {name: table[:, None] if "positional" in name else table for name, table in state_dict.items()}


def sample(*, bias: bool = True, gated: bool = False, learned: bool = False) -> Sample:
    table = drawn_as({"table": (MAX_LEN, D_MODEL)})["table"] if learned else sinusoids()
    without = () if bias else ("*attn.w_[qk].bias",)
    weights = with_positions(drawn(final_norm=True, gated=gated, without=without), table)
    return Sample("labml", Reference(weights, PROGRAM), saved(weights), ANSWERS)


def lone_stack(*, is_causal: bool = False) -> Sample:
    """A language model of encoder layers, with or without a causal mask."""
    depths = (0, 2) if is_causal else (2, 0)
    weights = with_positions(drawn(depths=depths, final_norm=True), sinusoids())
    state_dict = {
        name.replace("decoder", "encoder").replace("tgt", "src"): weight
        for name, weight in saved(weights).items()
    }
    return Sample("labml", Reference(weights, PROGRAM), state_dict, ANSWERS | {"causal": is_causal})


SAMPLES = {"labml": sample, "labml, a lone stack": lone_stack}


@pytest.mark.parametrize(
    "bias, gated, learned",
    [(True, False, False), (False, True, False), (True, True, True), (False, False, True)],
)
def test_parity(tmp_path: Path, bias: bool, gated: bool, learned: bool) -> None:
    positions = "learned" if learned else "sinusoidal"
    theirs = sample(bias=bias, gated=gated, learned=learned)
    found = compared(tmp_path, theirs, gated=gated, max_len=MAX_LEN, positions=positions)
    assert [*found.asked] == ["n_heads", "activation", "pad_id"]


@pytest.mark.parametrize("is_causal", [True, False])
def test_a_lone_stack(tmp_path: Path, is_causal: bool) -> None:
    kind = "decoder-only" if is_causal else "encoder-only"
    found = compared(tmp_path, lone_stack(is_causal=is_causal), kind=kind)
    assert [*found.asked] == ["causal", "n_heads", "activation", "pad_id"]
