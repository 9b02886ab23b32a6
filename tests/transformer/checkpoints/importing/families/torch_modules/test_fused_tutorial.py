"""The tutorial layout with fused projections, and its version that merges heads without transposing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.reference import (
    HEADS,
    SRC_VOCAB,
    TGT_VOCAB,
    Program,
    Reference,
    S,
    Sample,
    T,
    compared,
    drawn,
    fused,
    published,
    sinusoids,
    with_positions,
)

PAD = 1
RULES = {
    "^src_embedding": "encoder.sentence_embedding.embedding",
    "^tgt_embedding": "decoder.sentence_embedding.embedding",
    "^generator": "linear",
    "^encoder(.*)self_attn_norm": r"encoder\1norm1",
    "^encoder(.*)feed_forward_norm": r"encoder\1norm2",
    "^decoder(.*)self_attn_norm": r"decoder\1layer_norm1",
    "cross_attn_norm": "layer_norm2",
    "^decoder(.*)feed_forward_norm": r"decoder\1layer_norm3",
    "^encoder(.*)self_attn": r"encoder\1attention",
    "^decoder(.*)self_attn": r"decoder\1self_attention",
    "cross_attn": "encoder_decoder_attention",
    "w_q": "q_layer",
    "w_o": "linear_layer",
    r"feed_forward\.w_": "ffn.linear",
}


def sample(*, transposes_back: bool = True, norm_first: bool = False, eps: float = 1e-5) -> Sample:
    weights = with_positions(drawn(), sinusoids())
    program = Program(norm_first=norm_first, eps=eps, transposes_back=transposes_back, pad_id=PAD)
    merge = "transposed" if transposes_back else "untransposed"
    answers = {"n_heads": HEADS, "merge_heads": merge, "pad_id": PAD}
    answers |= {"norm_position": "pre" if norm_first else "post", "norm_eps": eps}
    stored = fused(weights, "qkv_layer", "qkv", within="self_attn", heads=HEADS)
    stored = fused(stored, "kv_layer", "kv", within="cross_attn", heads=HEADS)
    state_dict = published(stored, RULES, without=("*_positions",))
    return Sample("fused_tutorial", Reference(weights, program), state_dict, answers)


SAMPLES = {"fused_tutorial": sample}


@pytest.mark.parametrize("transposes_back", [True, False])
def test_parity(tmp_path: Path, transposes_back: bool) -> None:
    found = compared(tmp_path, sample(transposes_back=transposes_back))
    told = any("without transposing back" in note for note in found.report.notes)
    assert told != transposes_back


def test_what_is_assumed_and_other_norms_than_the_tutorials(tmp_path: Path) -> None:
    theirs = sample(norm_first=True, eps=0.1)
    _, report = imported(raw_of(tmp_path, theirs.state_dict))
    taken = {question.name: (question.value, question.answered) for question in report.questions}
    assert taken["merge_heads"] == ("transposed", False)
    assert taken["norm_position"] == ("post", False)
    assert taken["norm_eps"] == (1e-5, False)
    compared(tmp_path, theirs, norm_position="pre", norm_eps=0.1)


def test_what_is_decoded_step_by_step_is_what_the_whole_target_gives(tmp_path: Path) -> None:
    """Where a token gets parts of later ones, nothing can be cached between steps."""
    theirs = sample(transposes_back=False)
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict), theirs.answers)
    src, tgt = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4), random_ids(TGT_VOCAB, 4, T, seed=1)
    state = ours.start(src)
    state.select(torch.tensor([0, 1]), torch.tensor([0, 0, 1, 1]))
    with torch.no_grad():
        for length in range(1, T + 1):
            logits = ours.step(tgt[:, length - 1 : length], state)
            whole = theirs.theirs(src.repeat_interleave(2, dim=0), tgt[:, :length])
            assert close(logits[:, 0], whole[:, -1])
