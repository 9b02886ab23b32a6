"""The models of Raschka's book: its GPT, and its later Llama and Qwen 3."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
from tests.transformer.checkpoints.importing.families.reference import (
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
from transformer.errors import CheckpointError

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 47, 24, 6, 2, 17
RULES = {
    "^tgt_embedding": "tok_emb",
    "^tgt_positions": "pos_emb.weight",
    "^generator": "out_head",
    r"^decoder\.layers": "trf_blocks",
    r"^decoder\.final_norm": "final_norm",
    "self_attn_norm": "norm1",
    "feed_forward_norm": "norm2",
    "self_attn": "att",
    "w_q": "W_query",
    "w_k": "W_key",
    "w_v": "W_value",
    "w_o": "out_proj",
    "gamma$": "scale",
    "beta$": "shift",
}
PLAIN = RULES | {r"feed_forward\.w_1": "ff.layers.0", r"feed_forward\.w_2": "ff.layers.2"}
GATED = RULES | {
    r"feed_forward\.w_1": "ff.fc1",
    r"feed_forward\.w_2": "ff.fc3",
    r"feed_forward\.w_3": "ff.fc2",
}


def gpt(*, qkv_bias: bool = False) -> Sample:
    without = ("generator.bias", *(() if qkv_bias else ("*.w_[qkv].bias",)))
    weights = drawn(
        d_model=D_MODEL, vocabularies=(0, VOCAB), depths=(0, LAYERS), final_norm=True, without=without
    )
    weights = with_positions(weights, drawn_as({"table": (LENGTH, D_MODEL)})["table"])
    tanh_gelu = partial(functional.gelu, approximate="tanh")
    theirs = Reference(weights, Program(heads=HEADS, norm_first=True, activation=tanh_gelu))
    masks = {f"trf_blocks.{i}.att.mask": torch.ones(LENGTH, LENGTH).triu(1) for i in range(LAYERS)}
    return Sample("raschka_gpt", theirs, published(weights, PLAIN) | masks, {"n_heads": HEADS})


def rotary(kv_heads: int = 3, d_head: int = 4, base: float = 10_000.0, *, normed: bool = False) -> Sample:
    """The Llama or, with normed queries and keys, the Qwen 3."""
    weights = drawn(
        d_model=D_MODEL,
        widths=(HEADS * d_head, kv_heads * d_head),
        vocabularies=(0, VOCAB),
        depths=(0, LAYERS),
        final_norm=True,
        gated=True,
        without=("*.bias", "*.beta"),
    )
    if normed:
        norms = [f"decoder.layers.{i}.self_attn.{m}_norm.gamma" for i in range(LAYERS) for m in "qk"]
        weights |= drawn_as(dict.fromkeys(norms, (d_head,)))
    program = Program(
        heads=HEADS, norm_first=True, norm="rms", eps=1e-6 if normed else 1e-5,
        activation=functional.silu, rotary="halves", base=base,
    )  # fmt: skip
    rules = GATED if normed else GATED | {"scale$": "weight"}
    answers = {} if normed else {"n_heads": HEADS, "position_base": base}
    return Sample("raschka_llama", Reference(weights, program), published(weights, rules), answers)


def qwen() -> Sample:
    return rotary(2, 10, 1e6, normed=True)


SAMPLES = {"raschka_gpt": gpt, "raschka_llama": rotary, "raschka_llama, Qwen 3": qwen}


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_gpt(tmp_path: Path, qkv_bias: bool) -> None:
    found = compared(tmp_path, gpt(qkv_bias=qkv_bias), max_len=LENGTH)
    assert found.asked == {"n_heads": HEADS, "activation": "gelu_tanh"}


@pytest.mark.parametrize("kv_heads", [HEADS, 3])
def test_llama(tmp_path: Path, kv_heads: int) -> None:
    found = compared(tmp_path, rotary(kv_heads), n_kv_heads=kv_heads)
    likely = {question.name: question.options[0].value for question in found.report.questions}
    assert likely["position_base"] == (10_000.0 if kv_heads == HEADS else 500_000.0)
    assert ("rotary_stretch" in likely) == (kv_heads < HEADS)


def test_llama_3_stretches_its_long_wavelengths(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, rotary(base=5e5).state_dict)
    ours, _ = imported(raw, {"n_heads": HEADS, "rotary_stretch": 8})
    assert (ours.config.stretch_start, ours.config.stretch_full) == (2048, 8192)
    unstretched, _ = imported(raw, {"n_heads": HEADS})
    assert (unstretched.config.rotary_stretch, unstretched.config.stretch_full) == (1, 0)


def test_qwen_3_tells_its_heads_by_their_norms(tmp_path: Path) -> None:
    found = compared(tmp_path, qwen(), n_heads=HEADS, n_kv_heads=2, d_head=10)
    assert found.asked == {"position_base": 1e6, "norm_eps": 1e-6, "max_len": 2048}


def test_heads_that_can_not_be_are_refused(tmp_path: Path) -> None:
    """12 rows of keys don't divide into heads of 8, and heads of odd width can't be rotated."""
    raw = raw_of(tmp_path, rotary().state_dict)
    for n_heads in (0, 5, 3, 24):
        with pytest.raises(CheckpointError, match=r"heads|n_heads"):
            plan_import(raw, {"n_heads": n_heads})
