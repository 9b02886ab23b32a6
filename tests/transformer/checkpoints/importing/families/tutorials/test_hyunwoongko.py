"""hyunwoongko/transformer: norms after the sublayers, of two kinds; sinusoids computed or stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
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
    "^src_embedding": "encoder.emb.tok_emb",
    "^tgt_embedding": "decoder.emb.tok_emb",
    "^src_positions": "encoder.emb.pos_emb.encoding",
    "^tgt_positions": "decoder.emb.pos_emb.encoding",
    "^generator": "decoder.linear",
    "self_attn_norm": "norm1",
    "cross_attn_norm": "norm2",
    "^encoder(.*)feed_forward_norm": r"encoder\1norm2",
    "^decoder(.*)feed_forward_norm": r"decoder\1norm3",
    "^encoder(.*)self_attn": r"encoder\1attention",
    "^decoder(.*)self_attn": r"decoder\1self_attention",
    "cross_attn": "enc_dec_attention",
    "w_o": "w_concat",
    r"feed_forward\.w_": "ffn.linear",
}


def sample(*, norm: str = "layer", stored: bool = False) -> Sample:
    weights = with_positions(drawn(), sinusoids())
    kind = "unbiased" if norm == "layer_unbiased" else "layer"
    theirs = Reference(weights, Program(norm=kind, eps=1e-12, pad_id=PAD))
    state_dict = published(weights, RULES, without=() if stored else ("*_positions",))
    return Sample("hyunwoongko", theirs, state_dict, {"n_heads": HEADS, "pad_id": PAD, "norm": norm})


SAMPLES = {"hyunwoongko": sample}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("norm", ["layer", "layer_unbiased"])
def test_parity(tmp_path: Path, norm: str, stored: bool) -> None:
    length = MAX_LEN if stored else 1024
    found = compared(tmp_path, sample(norm=norm, stored=stored), positions="sinusoidal", max_len=length)
    assert [*found.asked] == ["n_heads", "norm", "split_heads", "pad_id"]


def test_the_current_version_is_assumed_and_versions_that_mix_tokens_are_refused(tmp_path: Path) -> None:
    state_dict = sample().state_dict
    raw = raw_of(tmp_path, state_dict)
    taken = {question.name: question.value for question in plan_import(raw, {}).report.questions}
    del taken["n_heads"]
    assert taken == {"split_heads": "transposed", "norm": "layer", "pad_id": PAD}
    with pytest.raises(CheckpointError, match="without transposing"):
        plan_import(raw, {"split_heads": "untransposed"})
    without_output = {name: weight for name, weight in state_dict.items() if "w_concat" not in name}
    with pytest.raises(CheckpointError, match="without transposing"):
        plan_import(raw_of(tmp_path, without_output), {})
