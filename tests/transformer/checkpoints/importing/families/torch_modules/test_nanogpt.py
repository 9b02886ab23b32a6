"""nanoGPT and programs with the same module names: weights alone, and their trainers' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from tests.transformer.checkpoints.importing.families.reference import (
    Program,
    Reference,
    Sample,
    assert_same,
    compared,
    drawn,
    drawn_as,
    fused,
    published,
    with_positions,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 41, 24, 3, 2, 17
RULES = {
    "^tgt_embedding": "transformer.wte",
    "^tgt_positions": "transformer.wpe.weight",
    "^generator": "lm_head",
    r"^decoder\.layers": "transformer.h",
    r"^decoder\.final_norm": "transformer.ln_f",
    "self_attn_norm": "ln_1",
    "feed_forward_norm": "ln_2",
    "self_attn": "attn",
    "w_o": "c_proj",
    r"feed_forward\.w_1": "mlp.c_fc",
    r"feed_forward\.w_2": "mlp.c_proj",
    "gamma$": "weight",
    "beta$": "bias",
}
MASKS = {f"transformer.h.{i}.attn.bias": torch.ones(1, 1, LENGTH, LENGTH).tril() for i in range(LAYERS)}


def sample(*, bias: bool = True, tied: bool = True, attention_bias: bool = True) -> Sample:
    without = ["generator.bias", *(() if bias else ("*.bias", "*.beta"))]
    without += [] if attention_bias else ["*attn.w_?.bias"]
    weights = drawn(
        d_model=D_MODEL, vocabularies=(0, VOCAB), depths=(0, LAYERS), final_norm=True, without=tuple(without)
    )
    weights = with_positions(weights, drawn_as({"table": (LENGTH, D_MODEL)})["table"])
    if tied:
        weights["tgt_embedding.weight"] = weights["generator.weight"]
    theirs = Reference(weights, Program(heads=HEADS, norm_first=True, activation=functional.gelu))
    state_dict = published(fused(weights, "c_attn", "qkv"), RULES) | MASKS
    return Sample("nanogpt", theirs, state_dict, {"n_heads": HEADS, "activation": "gelu"})


SAMPLES = {"nanogpt": sample}


@pytest.mark.parametrize("bias, tied", [(True, True), (False, True), (True, False)])
def test_parity(tmp_path: Path, bias: bool, tied: bool) -> None:
    found = compared(tmp_path, sample(bias=bias, tied=tied), tie_generator=tied)
    assert found.asked == {"n_heads": HEADS, "activation": "gelu"}


def test_a_lookalike_without_biases_of_attention_alone(tmp_path: Path) -> None:
    compared(tmp_path, sample(attention_bias=False), attention_bias=False, bias=True)


def test_the_trainers_file_tells_the_heads(tmp_path: Path) -> None:
    theirs = sample(bias=False)
    saved: dict[str, Any] = {
        "model": {f"_orig_mod.{name}": weight for name, weight in theirs.state_dict.items()},
        "optimizer": torch.optim.AdamW([torch.nn.Parameter(torch.ones(2))]).state_dict(),
        "model_args": {
            "n_layer": LAYERS, "n_head": HEADS, "n_embd": D_MODEL, "block_size": LENGTH, "bias": False,
            "vocab_size": VOCAB, "dropout": 0.0,
        },
        "iter_num": 5,
        "best_val_loss": torch.tensor(1.5),
        "config": {"dataset": "shakespeare_char", "n_head": HEADS, "device": "cpu"},
    }  # fmt: skip
    torch.save(saved, tmp_path / "ckpt.pt")
    opened = open_checkpoint(tmp_path / "ckpt.pt")
    assert opened.loaded is not None
    assert not opened.report.keys.unexpected
    assert_same(opened.loaded.model, theirs.theirs)


def first_activation(report: ImportReport) -> object:
    return next(question.options[0].value for question in report.questions if question.name == "activation")


def test_mingpt_is_known_by_its_own_generator_and_its_masks(tmp_path: Path) -> None:
    weights = sample(tied=False).state_dict
    assert first_activation(plan_import(raw_of(tmp_path, weights), {}).report) == "gelu_tanh"
    without_masks = {name: weight for name, weight in weights.items() if name not in MASKS}
    assert first_activation(plan_import(raw_of(tmp_path, without_masks), {}).report) == "gelu"


def test_build_nanogpt_is_known_by_what_it_saves(tmp_path: Path) -> None:
    saved = {"model": sample().state_dict, "step": 5000, "val_loss": 3.25}
    torch.save(saved, tmp_path / "model_05000.pt")
    assert first_activation(open_checkpoint(tmp_path / "model_05000.pt").report) == "gelu_tanh"
    torch.save(saved | {"model_args": {"n_head": HEADS}}, tmp_path / "ckpt.pt")
    assert first_activation(open_checkpoint(tmp_path / "ckpt.pt").report) == "gelu"


def test_a_missing_beta_among_others_is_missing(tmp_path: Path) -> None:
    weights = sample().state_dict
    del weights["transformer.h.1.ln_2.bias"]
    (missing,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.missing
    assert missing.name == "transformer.h.1.ln_2.bias"


@pytest.mark.parametrize("shape", [(), (72,), (71, 24), (0, 0)])
def test_projections_of_another_shape_are_told(tmp_path: Path, shape: tuple[int, ...]) -> None:
    name = "transformer.h.0.attn.c_attn.weight"
    weights = sample().state_dict | {name: torch.zeros(shape)}
    try:
        keys = plan_import(raw_of(tmp_path, weights), {"n_heads": HEADS}).report.keys
    except CheckpointError:
        return
    assert name in [key.name for key in keys.misshaped]
