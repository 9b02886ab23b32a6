"""bentrevett/pytorch-seq2seq in its three versions: norms after the sublayers, learned positions."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_FF,
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
from transformer.checkpoints.importing.recognition import plan_import

PAD = 1
OUTSIDE = {
    "^src_": "encoder.",
    "^tgt_": "decoder.",
    r"\.embedding": ".tok_embedding",
    r"\.positions": ".pos_embedding.weight",
    "gamma$": "weight",
    "beta$": "bias",
}
CURRENT = OUTSIDE | {
    "^generator": "decoder.fc_out",
    "cross_attn_norm": "enc_attn_layer_norm",
    "self_attn_norm": "self_attn_layer_norm",
    "feed_forward_norm": "ff_layer_norm",
    r"self_attn\.w": "self_attention.fc",
    r"cross_attn\.w": "encoder_attention.fc",
    r"feed_forward\.w": "positionwise_feedforward.fc",
}
FIRST = OUTSIDE | {
    "^generator": "decoder.fc",
    r"[a-z_]+_norm\.": "ln.",
    r"self_attn\.": "sa.",
    r"cross_attn\.": "ea.",
    "w_o": "fc",
    r"feed_forward\.w": "pf.fc",
}
VERSIONS = {"current": CURRENT, "shared norm": CURRENT, "first": FIRST}


def sample(version: str = "current") -> Sample:
    weights = with_positions(drawn(), drawn_as({"table": (MAX_LEN, D_MODEL)})["table"])
    rules, dropped = VERSIONS[version], tuple[str, ...]()
    if version != "current":
        weights = {
            name: weights[re.sub("(cross_attn|feed_forward)_norm", "self_attn_norm", name)]
            for name in weights
        }
        rules = rules | {r"self_attn_layer_norm": "layer_norm"}
        dropped = ("*cross_attn_norm*", "*feed_forward_norm*")
    state_dict = published(weights, rules, without=dropped)
    if version == "first":  # convolutions of kernel size 1
        state_dict |= {
            name: weight[..., None]
            for name, weight in state_dict.items()
            if ".pf." in name and weight.dim() == 2
        }
    program = Program(embedding_scale=math.sqrt(D_MODEL), pad_id=PAD)
    return Sample("bentrevett", Reference(weights, program), state_dict, {"n_heads": HEADS, "pad_id": PAD})


SAMPLES = {f"bentrevett, {version}": lambda version=version: sample(version) for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_parity(tmp_path: Path, version: str) -> None:
    found = compared(tmp_path, sample(version), positions="learned", max_len=MAX_LEN)
    assert [*found.asked] == ["n_heads", "pad_id"]
    assert any("share one norm" in note for note in found.report.notes) == (version != "current")


def test_a_wider_convolution_does_not_fit(tmp_path: Path) -> None:
    name = "encoder.layers.1.pf.fc_1.weight"
    weights = sample("first").state_dict | {name: torch.zeros(D_FF, D_MODEL, 3)}
    (wrong,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert wrong.name == name
