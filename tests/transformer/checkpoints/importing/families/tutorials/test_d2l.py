"""The Transformer of "Dive into Deep Learning": a module written as described computes the same numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    SRC_VOCAB,
    TGT_VOCAB,
    attend,
    causal,
    compared,
    sinusoids,
)
from transformer.checkpoints.importing.recognition import plan_import

PAD = 1
NAMES = {
    "blks.block": "layers.",
    "blks.": "layers.",
    "attention1": "self_attn",
    "attention2": "cross_attn",
    ".attention": ".self_attn",
}


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(D_MODEL, D_MODEL, bias=bias) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        z, self.weights = attend(self.W_q(x), self.W_k(memory), self.W_v(memory), mask)
        return self.W_o(z)


class AddNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.ln(y + x)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense1, self.dense2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense2(self.dense1(x).relu())


class EncoderBlock(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.attention, self.ffn = Attention(bias), FeedForward()
        self.addnorm1, self.addnorm2 = AddNorm(), AddNorm()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.addnorm1(x, self.attention(x, x, mask))
        return self.addnorm2(x, self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.attention1, self.attention2, self.ffn = Attention(bias), Attention(bias), FeedForward()
        self.addnorm1, self.addnorm2, self.addnorm3 = AddNorm(), AddNorm(), AddNorm()

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.addnorm1(x, self.attention1(x, x, mask))
        x = self.addnorm2(x, self.attention2(x, memory, memory_mask))
        return self.addnorm3(x, self.ffn(x))


class Stack(nn.Module):
    def __init__(self, vocab_size: int, blocks: list[nn.Module], *, named: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, D_MODEL)
        self.blks = nn.Sequential() if named else nn.ModuleList(blocks)
        for i, block in enumerate(blocks if named else []):
            self.blks.add_module(f"block{i}", block)

    def embed(self, ids: Tensor) -> Tensor:
        return self.embedding(ids) * math.sqrt(D_MODEL) + sinusoids(ids.shape[1])


class Theirs(nn.Module):
    """The book names its blocks."""

    def __init__(self, *, bias: bool = False, named: bool = True) -> None:
        super().__init__()
        encoder_blocks: list[nn.Module] = [EncoderBlock(bias) for _ in range(ENCODER_LAYERS)]
        decoder_blocks: list[nn.Module] = [DecoderBlock(bias) for _ in range(DECODER_LAYERS)]
        self.encoder = Stack(SRC_VOCAB, encoder_blocks, named=named)
        self.decoder = Stack(TGT_VOCAB, decoder_blocks, named=named)
        self.decoder.add_module("dense", nn.Linear(D_MODEL, TGT_VOCAB))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """The decoder sees each token up to its own, as in the book's training."""
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder.embed(src)
        for block in self.encoder.blks:
            memory = block(memory, memory_mask)
        x = self.decoder.embed(tgt)
        for block in self.decoder.blks:
            x = block(x, causal()[None, None], memory, memory_mask)
        return self.decoder.get_submodule("dense")(x)


@pytest.mark.parametrize("bias, named", [(False, True), (True, False)])
def test_parity(tmp_path: Path, bias: bool, named: bool) -> None:
    found = compared(tmp_path, randomized(Theirs(bias=bias, named=named)), NAMES, pad_id=PAD)
    assert found.report.family == "d2l"
    assert found.asked == ["n_heads", "pad_id"]
    assert (found.model.config.positions, found.model.config.attention_bias) == ("sinusoidal", bias)


def test_four_heads_are_likely(tmp_path: Path) -> None:
    weights = {
        name: weight if D_MODEL not in weight.shape else weight.new_zeros(_widened(weight))
        for name, weight in Theirs().state_dict().items()
    }
    assert plan_import(raw_of(tmp_path, weights), {}).report.config.n_heads == 4


def _widened(weight: Tensor) -> list[int]:
    return [32 if size == D_MODEL else size for size in weight.shape]
