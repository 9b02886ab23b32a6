"""The book's GPT and its Llama: modules written from what they compute, and what becomes of their weights."""

from __future__ import annotations

import math
from pathlib import Path

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
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH, D_FF = 47, 24, 6, 2, 17, 53


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(D_MODEL)), nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return self.scale * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + self.shift


class RootMeanSquare(nn.Module):
    def __init__(self, width: int, name: str) -> None:
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.ones(width)))
        self.eps = 1e-5 if name == "weight" else 1e-6

    def forward(self, x: Tensor) -> Tensor:
        (gamma,) = self.parameters()
        return gamma * x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()


class Attention(nn.Module):
    mask: Tensor

    def __init__(self, *, qkv_bias: bool) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(D_MODEL, D_MODEL, bias=qkv_bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(D_MODEL, D_MODEL)
        self.register_buffer("mask", torch.ones(LENGTH, LENGTH).triu(1))
        self.weights = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = (
            matrix(x).view(n, length, HEADS, -1).transpose(1, 2)
            for matrix in (self.W_query, self.W_key, self.W_value)
        )
        scores = (q @ k.transpose(2, 3)).masked_fill(self.mask.bool()[:length, :length], -math.inf)
        self.weights = (scores / math.sqrt(D_MODEL // HEADS)).softmax(-1)
        return self.out_proj((self.weights @ v).transpose(1, 2).reshape(n, length, -1))


class RotaryAttention(nn.Module):
    def __init__(self, kv_heads: int, d_head: int, theta: float, *, normed: bool) -> None:
        super().__init__()
        self.W_query = nn.Linear(D_MODEL, HEADS * d_head, bias=False)
        self.W_key = nn.Linear(D_MODEL, kv_heads * d_head, bias=False)
        self.W_value = nn.Linear(D_MODEL, kv_heads * d_head, bias=False)
        self.out_proj = nn.Linear(HEADS * d_head, D_MODEL, bias=False)
        if normed:
            self.q_norm, self.k_norm = RootMeanSquare(d_head, "scale"), RootMeanSquare(d_head, "scale")
        self.kv_heads, self.d_head, self.normed = kv_heads, d_head, normed
        self.frequencies = theta ** (-torch.arange(0, d_head, 2) / d_head)
        self.weights = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = (
            matrix(x).view(n, length, -1, self.d_head).transpose(1, 2)
            for matrix in (self.W_query, self.W_key, self.W_value)
        )
        if self.normed:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = self._turned(q), self._turned(k)
        k, v = (part.repeat_interleave(HEADS // self.kv_heads, dim=1) for part in (k, v))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(2, 3)).masked_fill(later, -math.inf)
        self.weights = (scores / math.sqrt(self.d_head)).softmax(-1)
        return self.out_proj((self.weights @ v).transpose(1, 2).reshape(n, length, -1))

    def _turned(self, x: Tensor) -> Tensor:
        angle = torch.outer(torch.arange(x.shape[2]).float(), self.frequencies).repeat(1, 2)
        first, second = x.chunk(2, dim=-1)
        return x * angle.cos() + torch.cat((-second, first), -1) * angle.sin()


class TanhGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), TanhGelu(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class GatedFeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(D_MODEL, D_FF, bias=False), nn.Linear(D_MODEL, D_FF, bias=False)
        self.fc3 = nn.Linear(D_FF, D_MODEL, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(functional.silu(self.fc1(x)) * self.fc2(x))


class Block(nn.Module):
    def __init__(self, att: nn.Module, ff: nn.Module, norm1: nn.Module, norm2: nn.Module) -> None:
        super().__init__()
        self.att, self.ff, self.norm1, self.norm2 = att, ff, norm1, norm2

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


class Model(nn.Module):
    def __init__(self, blocks: list[Block], final_norm: nn.Module, *, learned: bool) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(VOCAB, D_MODEL)
        self.pos_emb = nn.Embedding(LENGTH, D_MODEL) if learned else None
        self.trf_blocks = nn.Sequential(*blocks)
        self.final_norm = final_norm
        self.out_head = nn.Linear(D_MODEL, VOCAB, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok_emb(ids)
        if self.pos_emb is not None:
            x = x + self.pos_emb.weight[: ids.shape[1]]
        return self.out_head(self.final_norm(self.trf_blocks(x)))


def gpt(*, qkv_bias: bool = False) -> Model:
    blocks = [Block(Attention(qkv_bias=qkv_bias), FeedForward(), Norm(), Norm()) for _ in range(LAYERS)]
    model = Model(blocks, Norm(), learned=True)
    randomized(model)
    return model


def rotary(kv_heads: int, d_head: int, theta: float, *, normed: bool = False) -> Model:
    name = "scale" if normed else "weight"
    norms = [RootMeanSquare(D_MODEL, name) for _ in range(2 * LAYERS + 1)]
    blocks = [
        Block(
            RotaryAttention(kv_heads, d_head, theta, normed=normed),
            GatedFeedForward(),
            norms[2 * i],
            norms[2 * i + 1],
        )
        for i in range(LAYERS)
    ]
    model = Model(blocks, norms[-1], learned=False)
    randomized(model)
    return model


def assert_same(ours: Transformer, theirs: Model) -> None:
    ids = random_ids(VOCAB, 2, 11, first=0)
    with torch.no_grad():
        expected = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], expected)
    for i, block in enumerate(theirs.trf_blocks):
        assert isinstance(block, Block)
        assert isinstance(block.att.weights, Tensor)
        assert close(trace.attention("decoder", i, "self_attn").weights, block.att.weights)


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_gpt(tmp_path: Path, qkv_bias: bool) -> None:
    theirs = gpt(qkv_bias=qkv_bias)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert report.family == "raschka_gpt"
    assert {question.name: question.value for question in report.questions} == {
        "n_heads": HEADS,
        "activation": "gelu_tanh",
    }
    assert_same(ours, theirs)


LLAMA_2 = {"n_heads": HEADS, "position_base": 10_000.0}


@pytest.mark.parametrize("kv_heads", [HEADS, 3])
def test_llama(tmp_path: Path, kv_heads: int) -> None:
    theirs = rotary(kv_heads, D_MODEL // HEADS, 10_000.0)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), LLAMA_2)
    assert (report.family, ours.config.n_kv_heads) == ("raschka_llama", kv_heads)
    asked = {question.name: question.options[0].value for question in report.questions}
    assert asked["position_base"] == (10_000.0 if kv_heads == HEADS else 500_000.0)
    assert ("rotary_stretch" in asked) == (kv_heads < HEADS)
    assert_same(ours, theirs)


def test_llama_3_stretches_its_long_wavelengths(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, rotary(3, 4, 5e5).state_dict())
    ours, _ = imported(raw, {"n_heads": HEADS, "rotary_stretch": 8})
    assert (ours.config.stretch_start, ours.config.stretch_full) == (2048, 8192)
    unstretched, _ = imported(raw, {"n_heads": HEADS})
    assert (unstretched.config.rotary_stretch, unstretched.config.stretch_full) == (1, 0)


def test_qwen_3_tells_its_heads_by_their_norms(tmp_path: Path) -> None:
    theirs = rotary(2, 10, 1e6, normed=True)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()))
    assert (ours.config.n_heads, ours.config.n_kv_heads, ours.config.d_head) == (HEADS, 2, 10)
    asked = {question.name: question.value for question in report.questions}
    assert asked == {"position_base": 1e6, "norm_eps": 1e-6, "max_len": 2048}
    assert_same(ours, theirs)


@pytest.mark.parametrize("n_heads", [0, 5, 12, 24])
def test_heads_that_can_not_be_are_refused(tmp_path: Path, n_heads: int) -> None:
    # 12 rows of keys are no whole number of heads of 8; heads of 1 and of odd widths can't be turned.
    raw = raw_of(tmp_path, rotary(3, 4, 10_000.0).state_dict())
    with pytest.raises(CheckpointError, match=r"heads|n_heads"):
        plan_import(raw, {"n_heads": 3 if n_heads == 12 else n_heads})
