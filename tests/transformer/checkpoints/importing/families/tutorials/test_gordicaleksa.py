"""gordicaleksa/pytorch-original-transformer: norms before the sublayers and after each stack."""

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
from transformer.errors import CheckpointError

PAD = 1
RULES = {
    "^src_embedding": "src_embedding.embeddings_table",
    "^tgt_embedding": "trg_embedding.embeddings_table",
    "^src_positions": "src_pos_embedding.positional_encodings_table",
    "^tgt_positions": "trg_pos_embedding.positional_encodings_table",
    "^generator": "decoder_generator.linear",
    r"^(encoder|decoder)\.layers": r"\1.\1_layers",
    "self_attn_norm": "sublayers.0.norm",
    "cross_attn_norm": "sublayers.1.norm",
    "^encoder(.*)feed_forward_norm": r"encoder\1sublayers.1.norm",
    "^decoder(.*)feed_forward_norm": r"decoder\1sublayers.2.norm",
    "final_norm": "norm",
    "^encoder(.*)self_attn": r"encoder\1multi_headed_attention",
    "^decoder(.*)self_attn": r"decoder\1trg_multi_headed_attention",
    "cross_attn": "src_multi_headed_attention",
    "w_q": "qkv_nets.0",
    "w_k": "qkv_nets.1",
    "w_v": "qkv_nets.2",
    "w_o": "out_projection_net",
    r"feed_forward\.w_": "pointwise_net.linear",
    "gamma$": "weight",
    "beta$": "bias",
}


def sample() -> Sample:
    weights = with_positions(drawn(final_norm=True), sinusoids())
    program = Program(norm_first=True, embedding_scale=math.sqrt(D_MODEL), pad_id=PAD)
    answers = {"n_heads": HEADS, "pad_id": PAD}
    return Sample("gordicaleksa", Reference(weights, program), published(weights, RULES), answers)


SAMPLES = {"gordicaleksa": sample}


def test_parity(tmp_path: Path) -> None:
    found = compared(tmp_path, sample(), positions="sinusoidal", max_len=MAX_LEN)
    assert [*found.asked] == ["n_heads", "pad_id"]


@pytest.mark.parametrize("shape", [(), (D_MODEL,)])
def test_a_table_of_positions_without_rows_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    table = {"src_pos_embedding.positional_encodings_table": torch.zeros(shape)}
    with pytest.raises(CheckpointError, match="positional_encodings_table"):
        plan_import(raw_of(tmp_path, sample().state_dict | table), {})
