"""The Annotated Transformer and its copies: its own norms or torch's, before or after the sublayers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
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

PAD = 2
RULES = {
    "^(...)_embedding": r"\1_embed.0.lut",
    "^(...)_positions": r"\1_embed.1.pe",
    "^generator": "generator.proj",
    "self_attn_norm": "sublayer.0.norm",
    "cross_attn_norm": "sublayer.1.norm",
    "^encoder(.*)feed_forward_norm": r"encoder\1sublayer.1.norm",
    "^decoder(.*)feed_forward_norm": r"decoder\1sublayer.2.norm",
    "final_norm": "norm",
    r"cross_attn\.": "src_attn.",
    "w_q": "linears.0",
    "w_k": "linears.1",
    "w_v": "linears.2",
    "w_o": "linears.3",
}
ORIGINAL = {"gamma$": "a_2", "beta$": "b_2"}
TORCHS = {"gamma$": "weight", "beta$": "bias"}


def sample(*, torch_norms: bool = False, norm_first: bool = True, final_norm: bool = True) -> Sample:
    weights = with_positions(drawn(final_norm=final_norm), sinusoids())
    program = Program(
        norm_first=norm_first,
        norm="layer" if torch_norms else "unbiased",
        eps=1e-5 if torch_norms else 1e-6,
        embedding_scale=math.sqrt(D_MODEL),
        pad_id=PAD,
    )
    state_dict = published(weights, RULES | (TORCHS if torch_norms else ORIGINAL))
    state_dict |= {name: table[None] for name, table in state_dict.items() if name.endswith(".pe")}
    answers = {"n_heads": HEADS, "pad_id": PAD, "norm_position": "pre" if norm_first else "post"}
    return Sample("annotated", Reference(weights, program), state_dict, answers)


SAMPLES = {"annotated": sample}


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize(
    "torch_norms, final_norm", [(False, True), (False, False), (True, True), (True, False)]
)
def test_parity(tmp_path: Path, torch_norms: bool, final_norm: bool, norm_first: bool) -> None:
    theirs = sample(torch_norms=torch_norms, norm_first=norm_first, final_norm=final_norm)
    compared(tmp_path, theirs, max_len=MAX_LEN, final_norm=final_norm)


def test_one_matrix_for_all_words_is_seen(tmp_path: Path) -> None:
    state_dict = sample().state_dict
    for name in ("src_embed.0.lut.weight", "generator.proj.weight"):
        state_dict[name] = state_dict["tgt_embed.0.lut.weight"]
    ours, report = imported(raw_of(tmp_path, state_dict))
    assert ours.config.share_embeddings
    assert ours.generator.weight is ours.tgt_embedding.weight is ours.src_embedding.weight
    question = next(question for question in report.questions if question.name == "norm_position")
    assert (question.value, question.answered) == ("pre", False), "asked, and as in the tutorial"


def test_a_norm_after_one_stack_alone_stays_alone(tmp_path: Path) -> None:
    state_dict = sample().state_dict
    del state_dict["encoder.norm.a_2"], state_dict["encoder.norm.b_2"]
    ours, _ = imported(raw_of(tmp_path, state_dict))
    assert ours.config.final_norm == "decoder"
    assert (ours.encoder.final_norm, ours.decoder.final_norm is None) == (None, False)
