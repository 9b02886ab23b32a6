"""graykode/nlp-tutorial's Transformer and its copies: norms and rows of positions are not stored."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    SRC_VOCAB,
    TGT_VOCAB,
    Program,
    Reference,
    Rules,
    S,
    Sample,
    compared,
    drawn,
    drawn_as,
    published,
    sinusoids,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

PAD = 0
RULES: Rules = {
    "^src_embedding": "encoder.src_emb",
    "^tgt_embedding": "decoder.tgt_emb",
    "^generator": "projection",
    "feed_forward_norm": "pos_ffn.layer_norm",
    "attn_norm": "attn.layer_norm",
    "^encoder(.*)self_attn": r"encoder\1enc_self_attn",
    "^decoder(.*)self_attn": r"decoder\1dec_self_attn",
    "cross_attn": "dec_enc_attn",
    "w_([qkv])": lambda found: f"W_{found[1].upper()}",
    "w_o": "linear",
    r"feed_forward\.w_": "pos_ffn.conv",
    "gamma$": "weight",
    "beta$": "bias",
}
COPIED: Rules = {
    **RULES,
    "w_o": "fc",
    r"feed_forward\.w_1": "pos_ffn.fc.0",
    r"feed_forward\.w_2": "pos_ffn.fc.2",
}
SIDES = {"encoder": S, "decoder": S + 1}
"""Number of tokens in the example's sentences; the position table has one more row."""


def sample(*, stores_norms: bool = True, copied: bool = False, rows: str = "of_example") -> Sample:
    """The repository's version, which adds selected rows of the table, or a copy without biases."""
    width = 11 * HEADS if copied else 14 * HEADS
    without = ("generator.bias", *(("*attn.w*.bias", "*feed_forward.w*.bias") if copied else ()))
    weights = drawn(widths=(width, width), without=without)
    if not stores_norms:
        weights |= {name: torch.ones_like(weight) for name, weight in weights.items() if "gamma" in name}
        weights |= {name: torch.zeros_like(weight) for name, weight in weights.items() if "beta" in name}
    dropped = () if stores_norms else ("*_norm.*",)
    state_dict = published(weights, COPIED if copied else RULES, without=dropped)
    for (stack, length), side in zip(SIDES.items(), ("src", "tgt"), strict=True):
        table = sinusoids(length + 1) if copied else drawn_as({side: (length + 1, D_MODEL)})[side]
        order = [*range(length)]
        if rows == "from_1" and not copied:
            order = [*range(1, length + 1)]
        elif rows == "of_example" and not copied:
            order = [*range(1, length), 0] if side == "src" else [length, *range(1, length)]
        weights[f"{side}_positions"] = table[order]
        state_dict |= (
            {f"{stack}.pos_emb.pe": table[:, None]} if copied else {f"{stack}.pos_emb.weight": table}
        )
    if not copied:  # convolutions of kernel size 1
        for name, weight in state_dict.items():
            if ".conv" in name and weight.dim() == 2:
                state_dict[name] = weight[..., None]
    answers = {"n_heads": HEADS, "pad_id": PAD} | ({} if copied else {"rows_of_pos_emb": rows})
    return Sample("graykode", Reference(weights, Program(pad_id=PAD)), state_dict, answers)


SAMPLES = {"graykode": sample, "graykode, a copy": lambda: sample(copied=True)}


@pytest.mark.parametrize(
    "rows, stores_norms", [("of_example", True), ("from_0", True), ("from_1", True), ("of_example", False)]
)
def test_parity(tmp_path: Path, rows: str, stores_norms: bool) -> None:
    found = compared(tmp_path, sample(stores_norms=stores_norms, rows=rows), positions="learned")
    assert [*found.asked] == ["rows_of_pos_emb", "n_heads", "pad_id"]
    assert any("never trains them" in note for note in found.report.notes) != stores_norms


@pytest.mark.parametrize("stores_norms", [True, False])
def test_copies(tmp_path: Path, stores_norms: bool) -> None:
    theirs = sample(stores_norms=stores_norms, copied=True)
    found = compared(tmp_path, theirs, bias=False, d_head=11, positions="sinusoidal")
    assert [*found.asked] == ["n_heads", "pad_id"]


def test_a_layer_that_was_never_stored_is_drawn(tmp_path: Path) -> None:
    state_dict = sample(stores_norms=False).state_dict
    stored = {name: weight for name, weight in state_dict.items() if ".linear." not in name}
    planned = plan_import(raw_of(tmp_path, stored), {"n_heads": HEADS})
    assert planned.report.keys.fits
    assert planned.weights.stand_ins["encoder.layers.0.self_attn.w_o.weight"] == "drawn"
    assert any("drawn at random" in note for note in planned.report.notes)


def test_the_tables_of_the_example_are_known_by_their_rows(tmp_path: Path) -> None:
    tables = {f"{stack}.pos_emb.weight": sinusoids(6) for stack in SIDES}
    report = plan_import(raw_of(tmp_path, sample().state_dict | tables), {}).report
    assert [question.value for question in report.questions] == ["of_example", report.config.n_heads, PAD]
    assert report.config.max_len == 5


def test_positions_by_the_word_are_refused(tmp_path: Path) -> None:
    words = zip(SIDES, (SRC_VOCAB, TGT_VOCAB), strict=True)
    tables = {f"{stack}.pos_emb.weight": sinusoids(rows) for stack, rows in words}
    raw = raw_of(tmp_path, sample().state_dict | tables)
    questions = {question.name: question for question in plan_import(raw, {}).report.questions}
    assert "one row per word" in questions["rows_of_pos_emb"].why
    assert questions["rows_of_pos_emb"].value == "from_0"
    with pytest.raises(CheckpointError, match="looked up by the word"):
        plan_import(raw, {"rows_of_pos_emb": "word"})
