"""nanoGPT: a module as it is written there, its file as its trainer saves it, and what becomes of both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 41, 24, 3, 2, 17


class Norm(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D_MODEL))
        self.bias = nn.Parameter(torch.zeros(D_MODEL)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    bias: Tensor

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.c_attn = nn.Linear(D_MODEL, 3 * D_MODEL, bias=bias)
        self.c_proj = nn.Linear(D_MODEL, D_MODEL, bias=bias)
        self.register_buffer("bias", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))
        self.weights: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = (
            part.view(n, length, HEADS, -1).transpose(1, 2) for part in self.c_attn(x).split(D_MODEL, 2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(D_MODEL // HEADS)
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, -math.inf)
        self.weights = scores.softmax(-1)
        return self.c_proj((self.weights @ v).transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.c_fc = nn.Linear(D_MODEL, 4 * D_MODEL, bias=bias)
        self.c_proj = nn.Linear(4 * D_MODEL, D_MODEL, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(functional.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.ln_1, self.attn = Norm(bias), Attention(bias)
        self.ln_2, self.mlp = Norm(bias), FeedForward(bias)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NanoGPT(nn.Module):
    def __init__(self, *, bias: bool = True, tied: bool = True) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(VOCAB, D_MODEL),
            "wpe": nn.Embedding(LENGTH, D_MODEL),
            "h": nn.ModuleList(Block(bias) for _ in range(LAYERS)),
            "ln_f": Norm(bias),
        })  # fmt: skip
        self.lm_head = nn.Linear(D_MODEL, VOCAB, bias=False)
        if tied:
            self.transformer["wte"].weight = self.lm_head.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.transformer["wte"](ids) + self.transformer["wpe"](torch.arange(ids.shape[1]))
        for block in self.blocks():
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))

    def blocks(self) -> list[Block]:
        return [module for module in self.modules() if isinstance(module, Block)]


def drawn(*, bias: bool = True, tied: bool = True) -> NanoGPT:
    model = NanoGPT(bias=bias, tied=tied)
    randomized(model)
    return model


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_parity(tmp_path: Path, bias: bool, tied: bool) -> None:
    theirs = drawn(bias=bias, tied=tied)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS, "activation": "gelu"})
    assert report.family == "nanogpt"
    assert ours.config.tie_generator == tied
    assert [(question.name, question.value) for question in report.questions] == [
        ("n_heads", HEADS),
        ("activation", "gelu"),
    ]
    ids = random_ids(VOCAB, 2, 11)
    with torch.no_grad():
        expected = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], expected)
    for i, block in enumerate(theirs.blocks()):
        assert block.attn.weights is not None
        assert close(trace.attention("decoder", i, "self_attn").weights, block.attn.weights)


def test_the_trainers_file_tells_the_heads(tmp_path: Path) -> None:
    theirs = drawn(bias=False)
    saved: dict[str, Any] = {
        "model": {f"_orig_mod.{name}": weight for name, weight in theirs.state_dict().items()},
        "optimizer": torch.optim.AdamW(theirs.parameters()).state_dict(),
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
    ids = random_ids(VOCAB, 2, 11)
    with torch.no_grad():
        assert close(opened.loaded.model(None, ids), theirs(ids))


def first_activation(report: ImportReport) -> object:
    return next(question.options[0].value for question in report.questions if question.name == "activation")


def test_mingpt_is_known_by_its_own_generator_and_its_masks(tmp_path: Path) -> None:
    weights = drawn(tied=False).state_dict()
    assert first_activation(plan_import(raw_of(tmp_path, weights), {}).report) == "gelu_tanh"
    without_masks = {name: weight for name, weight in weights.items() if not name.endswith(".attn.bias")}
    assert first_activation(plan_import(raw_of(tmp_path, without_masks), {}).report) == "gelu"


def test_build_nanogpt_is_known_by_what_it_saves(tmp_path: Path) -> None:
    saved = {"model": drawn().state_dict(), "step": 5000, "val_loss": 3.25}
    torch.save(saved, tmp_path / "model_05000.pt")
    assert first_activation(open_checkpoint(tmp_path / "model_05000.pt").report) == "gelu_tanh"
    torch.save(saved | {"model_args": {"n_head": HEADS}}, tmp_path / "ckpt.pt")
    assert first_activation(open_checkpoint(tmp_path / "ckpt.pt").report) == "gelu"


def test_a_lookalike_without_biases_of_attention_alone(tmp_path: Path) -> None:
    theirs = drawn()
    for block in theirs.blocks():
        block.attn.c_attn.register_parameter("bias", None)
        block.attn.c_proj.register_parameter("bias", None)
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    ids = random_ids(VOCAB, 2, 11)
    with torch.no_grad():
        assert close(trace_of(ours, None, ids)["logits"], theirs(ids))


def test_a_missing_beta_among_others_is_missing(tmp_path: Path) -> None:
    weights = NanoGPT().state_dict()
    del weights["transformer.h.1.ln_2.bias"]
    (missing,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.missing
    assert missing.name == "transformer.h.1.ln_2.bias"


@pytest.mark.parametrize("shape", [(), (72,), (71, 24), (0, 0)])
def test_projections_of_another_shape_are_told(tmp_path: Path, shape: tuple[int, ...]) -> None:
    weights = NanoGPT().state_dict()
    weights["transformer.h.0.attn.c_attn.weight"] = torch.zeros(shape)
    try:
        keys = plan_import(raw_of(tmp_path, weights), {"n_heads": HEADS}).report.keys
    except CheckpointError:
        return
    assert "transformer.h.0.attn.c_attn.weight" in [key.name for key in keys.misshaped]
