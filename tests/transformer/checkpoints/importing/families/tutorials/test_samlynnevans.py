"""SamLynnEvans/Transformer: a module written as it is described computes the same numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    attend,
    causal,
    compared,
    sinusoids,
    unbiased_norm,
)

PAD = 1
NAMES = {"attn_1": "self_attn", "attn_2": "cross_attn", ".attn": ".self_attn"}


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(D_MODEL)), nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return unbiased_norm(x, self.alpha, self.bias, 1e-6)


class Attention(nn.Module):
    weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.q_linear, self.v_linear, self.k_linear, self.out = (
            nn.Linear(D_MODEL, D_MODEL) for _ in range(4)
        )

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        z, self.weights = attend(self.q_linear(x), self.k_linear(memory), self.v_linear(memory), mask)
        return self.out(z)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_2(self.linear_1(x).relu())


class EncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = Norm(), Norm()
        self.attn, self.ff = Attention(), FeedForward()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.norm_1(x)
        x = x + self.attn(y, y, mask)
        return x + self.ff(self.norm_2(x))


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2, self.norm_3 = Norm(), Norm(), Norm()
        self.attn_1, self.attn_2, self.ff = Attention(), Attention(), FeedForward()

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        y = self.norm_1(x)
        x = x + self.attn_1(y, y, mask)
        x = x + self.attn_2(self.norm_2(x), memory, memory_mask)
        return x + self.ff(self.norm_3(x))


def doubled_exponents() -> Tensor:
    """(length, D): sin(pos / 10000^(2i / D)) at i = 0, 2, 4, ..., and a cosine with i + 1 beside it."""
    table = torch.zeros(MAX_LEN, D_MODEL)
    for position in range(MAX_LEN):
        for i in range(0, D_MODEL, 2):
            table[position, i] = math.sin(position / 10_000 ** (2 * i / D_MODEL))
            table[position, i + 1] = math.cos(position / 10_000 ** (2 * (i + 1) / D_MODEL))
    return table


class Embedding(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, D_MODEL)


class Positions(nn.Module):
    pe: Tensor

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.register_buffer("pe", table[None])

    def forward(self, x: Tensor) -> Tensor:
        return x * math.sqrt(D_MODEL) + self.pe[:, : x.shape[1]]


class Stack(nn.Module):
    def __init__(self, vocab_size: int, table: Tensor, layers: list[nn.Module]) -> None:
        super().__init__()
        self.embed, self.pe = Embedding(vocab_size), Positions(table)
        self.layers, self.norm = nn.ModuleList(layers), Norm()

    def forward(self, ids: Tensor, *masks_and_memory: Tensor) -> Tensor:
        x = self.pe(self.embed.embed(ids))
        for layer in self.layers:
            x = layer(x, *masks_and_memory)
        return self.norm(x)


class Theirs(nn.Module):
    def __init__(self, table: Tensor | None = None) -> None:
        super().__init__()
        table = doubled_exponents() if table is None else table
        self.encoder = Stack(SRC_VOCAB, table, [EncoderLayer() for _ in range(ENCODER_LAYERS)])
        self.decoder = Stack(TGT_VOCAB, table, [DecoderLayer() for _ in range(DECODER_LAYERS)])
        self.out = nn.Linear(D_MODEL, TGT_VOCAB)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder(src, memory_mask)
        mask = (tgt != PAD)[:, None, None] & causal()
        return self.out(self.decoder(tgt, mask, memory, memory_mask))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_parity(tmp_path: Path, positions: str) -> None:
    table = doubled_exponents() if positions == "learned" else sinusoids()
    found = compared(tmp_path, randomized(Theirs(table)), NAMES, pad_id=PAD)
    assert found.report.family == "samlynnevans"
    assert found.asked == ["n_heads", "pad_id"]
    assert (found.model.config.positions, found.model.config.max_len) == (positions, MAX_LEN)
    assert any("doubles" in note for note in found.report.notes) == (positions == "learned")
