"""Llama under Meta's names: a module written from what it computes, and what becomes of its files."""

from __future__ import annotations

import json
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
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer

VOCAB, DIM, HEADS, KV_HEADS, LAYERS, HIDDEN = 59, 36, 6, 2, 3, 41


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def turned(x: Tensor, theta: float) -> Tensor:
    """(B, T, H, d_head), by complex numbers, as Meta does."""
    d_head = x.shape[-1]
    angle = torch.outer(torch.arange(x.shape[1]).float(), theta ** (-torch.arange(0, d_head, 2) / d_head))
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)[:, None]).flatten(-2)


class Attention(nn.Module):
    def __init__(self, kv_heads: int, theta: float) -> None:
        super().__init__()
        width = DIM // HEADS
        self.wq, self.wo = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.wk, self.wv = (nn.Linear(DIM, kv_heads * width, bias=False) for _ in range(2))
        self.kv_heads, self.theta = kv_heads, theta
        self.weights = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = (matrix(x).view(n, length, -1, DIM // HEADS) for matrix in (self.wq, self.wk, self.wv))
        q, k = turned(q, self.theta), turned(k, self.theta)
        k, v = (part.repeat_interleave(HEADS // self.kv_heads, dim=2) for part in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(DIM // HEADS)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.weights = scores.masked_fill(later, -math.inf).softmax(-1)
        return self.wo(torch.einsum("bhqk,bkhd->bqhd", self.weights, v).reshape(n, length, -1))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = nn.Linear(DIM, HIDDEN, bias=False), nn.Linear(DIM, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, DIM, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, kv_heads: int, theta: float) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(kv_heads, theta), FeedForward()
        self.attention_norm, self.ffn_norm = Norm(), Norm()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, kv_heads: int = KV_HEADS, theta: float = 10_000.0, *, tied: bool = False) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Block(kv_heads, theta) for _ in range(LAYERS))
        self.norm, self.output = Norm(), nn.Linear(DIM, VOCAB, bias=False)
        if tied:
            self.tok_embeddings.weight = self.output.weight
        randomized(self)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def assert_same(ours: Transformer, theirs: Llama) -> None:
    ids = random_ids(VOCAB, 2, 11, first=0)
    with torch.no_grad():
        expected = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], expected)
    for i, block in enumerate(theirs.layers):
        assert isinstance(block, Block)
        assert close(trace.attention("decoder", i, "self_attn").weights, block.attention.weights)


@pytest.mark.parametrize("kv_heads", [HEADS, KV_HEADS])
def test_weights_alone(tmp_path: Path, kv_heads: int) -> None:
    theirs = Llama(kv_heads)
    state_dict = theirs.state_dict() | {"rope.freqs": torch.ones(3)}
    raw = raw_of(tmp_path, state_dict)
    ours, report = imported(raw, {"n_heads": HEADS, "position_base": 10_000.0})
    assert (report.family, ours.config.n_kv_heads) == ("meta_llama", kv_heads)
    asked = {question.name: question.options[0].value for question in report.questions}
    assert asked.keys() == {"n_heads", "norm_eps", "position_base", "max_len"}
    assert asked["position_base"] == (10_000.0 if kv_heads == HEADS else 500_000.0)
    assert_same(ours, theirs)


ARGS = {
    "dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": KV_HEADS, "vocab_size": VOCAB,
    "multiple_of": 32, "max_seq_len": 23, "dropout": 0.0,
}  # fmt: skip


def test_llama2_c_asks_nothing(tmp_path: Path) -> None:
    theirs = Llama(tied=True)
    saved = {
        "model": {f"_orig_mod.{name}": weight for name, weight in theirs.state_dict().items()},
        "optimizer": torch.optim.AdamW(theirs.parameters()).state_dict(),
        "model_args": ARGS,
        "iter_num": 7,
        "best_val_loss": 1.25,
        "config": {"dataset": "tinystories", "dim": DIM},
    }
    torch.save(saved, tmp_path / "ckpt.pt")
    opened = open_checkpoint(tmp_path / "ckpt.pt")
    assert opened.loaded is not None
    assert not opened.report.questions
    assert not opened.report.keys.unexpected
    config = opened.report.config
    assert (config.tie_generator, config.max_len, config.norm_eps) == (True, 23, 1e-5)
    assert_same(opened.loaded.model, theirs)


def meta_folder(folder: Path, theirs: Llama, **params: Any) -> Imported:
    torch.save(theirs.state_dict(), folder / "consolidated.00.pth")
    told = {"dim": DIM, "n_layers": LAYERS, "n_heads": HEADS, "norm_eps": 1e-5, "vocab_size": -1}
    (folder / "params.json").write_text(json.dumps(told | params))
    return open_checkpoint(folder)


def test_metas_folder(tmp_path: Path) -> None:
    theirs = Llama(theta=500_000.0)
    opened = meta_folder(tmp_path, theirs, n_kv_heads=KV_HEADS, rope_theta=500_000.0)
    assert opened.loaded is not None
    assert [question.name for question in opened.report.questions] == ["max_len"]
    whys = {setting.name: setting.why for setting in opened.report.settings}
    assert whys["n_heads"] == "params.json: n_heads"
    assert_same(opened.loaded.model, theirs)


def test_the_stretch_of_llama_3_is_asked_unless_it_is_told(tmp_path: Path) -> None:
    report = meta_folder(tmp_path, Llama(), use_scaled_rope=True).report
    assert [question.name for question in report.questions] == ["rotary_stretch", "max_len"]
    config = meta_folder(tmp_path, Llama(), use_scaled_rope=True, rope_scaling_factor=32).report.config
    assert (config.rotary_stretch, config.stretch_start, config.stretch_full) == (32, 2048, 8192)


@pytest.mark.parametrize(
    "params, said",
    [
        ({"n_heads": 5}, "heads can't be"),
        ({"n_heads": "6"}, "params.json says n_heads '6'"),
        ({"quantization_args": {"spinquant": True}}, "quantised"),
        ({"moe": {"num_experts": 8}}, "experts"),
    ],
)
def test_what_is_refused(tmp_path: Path, params: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        meta_folder(tmp_path, Llama(), **params)


def test_parts_for_several_accelerators_are_refused_by_name(tmp_path: Path) -> None:
    for number in (0, 1):
        torch.save(Llama().state_dict(), tmp_path / f"consolidated.0{number}.pth")
    with pytest.raises(CheckpointError, match=r"convert_llama_weights_to_hf"):
        open_checkpoint(tmp_path)


def test_a_plain_feed_forward_is_another_model(tmp_path: Path) -> None:
    weights = {name: weight for name, weight in Llama().state_dict().items() if ".w1." not in name}
    with pytest.raises(CheckpointError, match="No known layout"):
        plan_import(raw_of(tmp_path, weights), {})
