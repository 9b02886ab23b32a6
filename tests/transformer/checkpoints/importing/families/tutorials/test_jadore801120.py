"""jadore801120/attention-is-all-you-need-pytorch: places of its norms, its scales, its 2018 version."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

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
    "^src_embedding.weight": "encoder.src_word_emb.weight",
    "^tgt_embedding.weight": "decoder.trg_word_emb.weight",
    "^src_positions": "encoder.position_enc.pos_table",
    "^tgt_positions": "decoder.position_enc.pos_table",
    "^generator": "trg_word_prj",
    r"\.layers\.": ".layer_stack.",
    "final_norm": "layer_norm",
    "feed_forward_norm": "pos_ffn.layer_norm",
    "self_attn_norm": "slf_attn.layer_norm",
    "cross_attn_norm": "enc_attn.layer_norm",
    r"self_attn\.": "slf_attn.",
    r"cross_attn\.": "enc_attn.",
    "w_([qkv])": r"w_\1s",
    "w_o": "fc",
    "feed_forward": "pos_ffn",
    "gamma$": "weight",
    "beta$": "bias",
}
OLD_TABLES = ("encoder.position_enc.weight", "decoder.position_enc.weight")


def sample(*, norm_first: bool = False, d_k: int = D_MODEL // HEADS, scaled: str = "") -> Sample:
    """The current code; with `scaled` ("prj", "emb" or "none"), generator and embedding are one matrix."""
    width = d_k * HEADS
    weights = drawn(widths=(width, width), final_norm=True, without=("*attn.w*.bias", "generator.bias"))
    weights = with_positions(weights, sinusoids())
    if scaled:
        weights["generator.weight"] = weights["tgt_embedding.weight"]
    state_dict = published(weights, RULES)
    state_dict |= {name: table[None] for name, table in state_dict.items() if "pos_table" in name}
    if not norm_first:  # the norm saved under the stack's name follows the embeddings
        for stack, side in (("encoder", "src"), ("decoder", "tgt")):
            for part in ("gamma", "beta"):
                weights[f"{side}_embedding.norm.{part}"] = weights.pop(f"{stack}.final_norm.{part}")
    program = Program(
        norm_first=norm_first,
        eps=1e-6,
        embedding_scale=math.sqrt(D_MODEL) if scaled == "emb" else 1.0,
        logits_scale=D_MODEL**-0.5 if scaled == "prj" else 1.0,
        pad_id=PAD,
    )
    answers: dict[str, Any] = {"n_heads": HEADS, "pad_id": PAD}
    answers |= {"norm_position": "pre"} if norm_first else {}
    answers |= {"scale_emb_or_prj": scaled} if scaled else {}
    return Sample("jadore801120", Reference(weights, program), state_dict, answers)


def sample_of_2018() -> Sample:
    """With biases and convolutions, without outer norms; positions count from 1, row 0 is for padding."""
    weights = with_positions(drawn(without=("generator.bias",)), sinusoids(MAX_LEN + 1)[1:])
    state_dict = {
        name.replace("trg", "tgt"): weight[..., None]
        if ".pos_ffn.w_" in name and weight.dim() == 2
        else weight
        for name, weight in published(weights, RULES, without=("*_positions",)).items()
    }
    for name in OLD_TABLES:
        state_dict[name] = sinusoids(MAX_LEN + 1)
        state_dict[name][0] = 0
    theirs = Reference(weights, Program(pad_id=PAD))
    return Sample("jadore801120", theirs, state_dict, {"n_heads": HEADS, "pad_id": PAD})


SAMPLES = {"jadore801120": sample, "jadore801120, 2018": sample_of_2018}


@pytest.mark.parametrize("scaled", ["", "prj", "emb", "none"])
def test_parity(tmp_path: Path, scaled: str) -> None:
    found = compared(tmp_path, sample(scaled=scaled), positions="sinusoidal", max_len=MAX_LEN)
    asked = ["scale_emb_or_prj"] if scaled else []
    assert [*found.asked] == ["norm_position", "place_of_layer_norm", "n_heads", *asked, "pad_id"]


def test_norms_before_the_sublayers_and_heads_of_another_width(tmp_path: Path) -> None:
    compared(tmp_path, sample(norm_first=True), final_norm=True, embedding_norm=False)
    compared(tmp_path, sample(d_k=11), d_head=11)


def test_the_version_of_2018(tmp_path: Path) -> None:
    found = compared(tmp_path, sample_of_2018(), positions="learned", max_len=MAX_LEN)
    assert [*found.asked] == ["n_heads", "pad_id"]
    assert found.report.questions[-1].options[0].value == 0


def test_what_is_assumed(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, sample(scaled="prj").state_dict), {}).report
    assert report.config.pad_id == PAD
    assumed = {question.name: question.value for question in report.questions}
    assert assumed["scale_emb_or_prj"] == "prj"
    assert (assumed["norm_position"], assumed["place_of_layer_norm"]) == ("post", "embeddings")
    assert (report.config.logits_scale, report.config.embedding_norm) == (True, True)
    sources = {setting.name: setting.source for setting in report.settings}
    assert {sources["logits_scale"], sources["embedding_norm"]} == {"assumed"}


def test_impossible_numbers_of_heads_are_refused(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, sample(d_k=11).state_dict)
    for n_heads in (0, -3, 2**62):
        with pytest.raises(CheckpointError):
            plan_import(raw, {"n_heads": n_heads})
