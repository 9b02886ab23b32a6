"""SamLynnEvans/Transformer: norms with the unbiased deviation, and its own position table."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

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

PAD = 1
RULES = {
    "^src_embedding": "encoder.embed.embed",
    "^tgt_embedding": "decoder.embed.embed",
    "^src_positions": "encoder.pe.pe",
    "^tgt_positions": "decoder.pe.pe",
    "^generator": "out",
    "self_attn_norm": "norm_1",
    "cross_attn_norm": "norm_2",
    "^encoder(.*)feed_forward_norm": r"encoder\1norm_2",
    "^decoder(.*)feed_forward_norm": r"decoder\1norm_3",
    "final_norm": "norm",
    "^encoder(.*)self_attn": r"encoder\1attn",
    "^decoder(.*)self_attn": r"decoder\1attn_1",
    "cross_attn": "attn_2",
    "w_([qkv])": r"\1_linear",
    "w_o": "out",
    r"feed_forward\.w_": "ff.linear_",
    "gamma$": "alpha",
    "beta$": "bias",
}


def doubled_exponents() -> Tensor:
    """(length, D): sin(pos / 10000^(2i / D)) at i = 0, 2, 4, ..., each followed by a cosine with i + 1."""
    table = torch.zeros(MAX_LEN, D_MODEL)
    for position in range(MAX_LEN):
        for i in range(0, D_MODEL, 2):
            table[position, i] = math.sin(position / 10_000 ** (2 * i / D_MODEL))
            table[position, i + 1] = math.cos(position / 10_000 ** (2 * (i + 1) / D_MODEL))
    return table


def sample(positions: str = "learned") -> Sample:
    table = doubled_exponents() if positions == "learned" else sinusoids()
    weights = with_positions(drawn(final_norm=True), table)
    program = Program(
        norm_first=True, norm="unbiased", eps=1e-6, embedding_scale=math.sqrt(D_MODEL), pad_id=PAD
    )
    state_dict = published(weights, RULES)
    state_dict |= {name: state_dict[name][None] for name in ("encoder.pe.pe", "decoder.pe.pe")}
    return Sample("samlynnevans", Reference(weights, program), state_dict, {"n_heads": HEADS, "pad_id": PAD})


SAMPLES = {"samlynnevans": sample}


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_parity(tmp_path: Path, positions: str) -> None:
    found = compared(tmp_path, sample(positions), positions=positions, max_len=MAX_LEN)
    assert [*found.asked] == ["n_heads", "pad_id"]
    assert any("doubles" in note for note in found.report.notes) == (positions == "learned")
