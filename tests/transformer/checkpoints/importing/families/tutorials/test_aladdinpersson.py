"""aladdinpersson's Transformer from scratch: modules written as described compute the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEADS,
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    attend,
    causal,
    compared,
)
from transformer.checkpoints.importing.families.tutorials.aladdinpersson import once_per_head
from transformer.checkpoints.importing.recognition import plan_import
from transformer.model.config import TransformerConfig

PAD = 0
NAMES = {"transformer_block.attention": "cross_attn", ".attention": ".self_attn"}
D_HEAD = D_MODEL // HEADS


class Version(NamedTuple):
    """How the code differs.

    Attributes:
        shared: whether heads share matrices of their width.
        bias: of queries, keys and values.
        corrected: whether scores are scaled as in the paper.
    """

    shared: bool = True
    bias: bool = False
    corrected: bool = False


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, version: Version) -> None:
        super().__init__()
        width, bias = D_HEAD if version.shared else D_MODEL, version.bias
        self.shared, self.scale = version.shared, (D_HEAD if version.corrected else D_MODEL) ** -0.5
        self.values, self.keys, self.queries = (nn.Linear(width, width, bias=bias) for _ in range(3))
        self.fc_out = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self._by_head(self.queries, x), self._by_head(self.keys, memory), self.values
        z, self.weights = attend(q, k, self._by_head(v, memory), mask, scale=self.scale)
        return self.fc_out(z)

    def _by_head(self, linear: nn.Module, x: Tensor) -> Tensor:
        return linear(x.unflatten(-1, (HEADS, D_HEAD))).flatten(-2) if self.shared else linear(x)


class Block(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.attention = Attention(version)
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.feed_forward = nn.Sequential(nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        x = self.norm1(self.attention(x, memory, mask) + x)
        return self.norm2(self.feed_forward(x) + x)


class DecoderBlock(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(D_MODEL), Attention(version)
        self.transformer_block = Block(version)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        return self.transformer_block(self.norm(self.attention(x, x, mask) + x), memory, memory_mask)


class Stack(nn.Module):
    def __init__(self, vocab_size: int, layers: list[nn.Module]) -> None:
        super().__init__()
        self.word_embedding = nn.Embedding(vocab_size, D_MODEL)
        self.position_embedding = nn.Embedding(MAX_LEN, D_MODEL)
        self.layers = nn.ModuleList(layers)

    def embed(self, ids: Tensor) -> Tensor:
        return self.word_embedding(ids) + self.position_embedding(torch.arange(ids.shape[1]))


AS_PUBLISHED = Version()


class Theirs(nn.Module):
    def __init__(self, version: Version = AS_PUBLISHED) -> None:
        super().__init__()
        self.encoder = Stack(SRC_VOCAB, [Block(version) for _ in range(ENCODER_LAYERS)])
        self.decoder = Stack(TGT_VOCAB, [DecoderBlock(version) for _ in range(DECODER_LAYERS)])
        self.decoder.add_module("fc_out", nn.Linear(D_MODEL, TGT_VOCAB))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """There is no mask of the target's padding: what is after a sentence it can't see anyway."""
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder.embed(src)
        for layer in self.encoder.layers:
            memory = layer(memory, memory, memory_mask)
        x = self.decoder.embed(tgt)
        for layer in self.decoder.layers:
            x = layer(x, causal()[None, None], memory, memory_mask)
        return self.decoder.get_submodule("fc_out")(x)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("divided_by", ["model", "head"])
def test_matrices_that_heads_share(tmp_path: Path, divided_by: str, bias: bool) -> None:
    theirs = randomized(Theirs(Version(bias=bias, corrected=divided_by == "head")))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, asks_heads=False, scores_divided_by=divided_by)
    assert found.report.family == "aladdinpersson"
    assert found.asked == ["scores_divided_by", "pad_id"]
    assert found.model.config.n_heads == HEADS
    assert any("share their matrices" in note for note in found.report.notes)


@pytest.mark.parametrize("divided_by", ["model", "head"])
def test_matrices_as_wide_as_the_model(tmp_path: Path, divided_by: str) -> None:
    theirs = randomized(Theirs(Version(shared=False, bias=True, corrected=divided_by == "head")))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, scores_divided_by=divided_by)
    assert found.asked == ["n_heads", "scores_divided_by", "pad_id"]
    assert not found.report.notes


def test_the_originals_scale_is_assumed(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, Theirs().state_dict()), {}).report
    assert report.config.attention_scale == pytest.approx(D_MODEL**-0.5)


@pytest.mark.parametrize("shape", [(), (5,), (5, 5), (D_HEAD, D_HEAD, 2), (D_MODEL + 1, D_MODEL)])
def test_matrices_of_another_shape_do_not_fit(tmp_path: Path, shape: tuple[int, ...]) -> None:
    name = "decoder.layers.1.attention.keys.weight"
    planned = plan_import(raw_of(tmp_path, Theirs().state_dict() | {name: torch.ones(shape)}), {})
    assert [key.name for key in planned.report.keys.misshaped] == [name]


def test_blocks_stand_on_the_diagonal() -> None:
    config = TransformerConfig(
        src_vocab_size=5, tgt_vocab_size=0, d_model=6, n_heads=3, n_encoder_layers=1, n_decoder_layers=0,
        d_ff=7, max_len=8,
    )  # fmt: skip
    block = torch.arange(1.0, 5).view(2, 2)
    (matrix,) = once_per_head(block, config)
    assert torch.equal(matrix, torch.block_diag(block, block, block))
