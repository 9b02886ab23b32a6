"""hkproj/pytorch-transformer: a module written as it is described computes the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
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
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint

PAD = 1
NAMES = {
    "self_attention_block": "self_attn",
    "cross_attention_block": "cross_attn",
    "source_attention_block": "cross_attn",
}


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return unbiased_norm(x, self.alpha, self.bias, 1e-6)


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(D_MODEL, D_MODEL, bias=bias) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        z, self.weights = attend(self.w_q(x), self.w_k(memory), self.w_v(memory), mask)
        return self.w_o(z)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_2(self.linear_1(x).relu())


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = Norm(width)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + sublayer(self.norm(x))


class Layer(nn.Module):
    def __init__(self, width: int, bias: bool, cross: str | None = None) -> None:
        super().__init__()
        self.self_attention_block = Attention(bias)
        self.cross = cross
        if cross is not None:
            setattr(self, cross, Attention(bias))
        self.feed_forward_block = FeedForward()
        self.residual_connections = nn.ModuleList(Residual(width) for _ in range(2 if cross is None else 3))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        first, *others = self.residual_connections
        x = first(x, lambda y: self.self_attention_block(y, y, mask))
        if self.cross is not None:
            x = others[0](x, lambda y: getattr(self, str(self.cross))(y, memory, memory_mask))
        return others[-1](x, self.feed_forward_block)


class Stack(nn.Module):
    def __init__(self, layers: list[Layer], width: int) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), Norm(width)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask, memory, memory_mask)
        return self.norm(x)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, D_MODEL)


class Positions(nn.Module):
    pe: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pe", sinusoids()[None])


class Projection(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(D_MODEL, TGT_VOCAB)


class Theirs(nn.Module):
    """The first version has norms of one number, biases in attention and another name for cross-attention."""

    def __init__(self, *, first_version: bool = False) -> None:
        super().__init__()
        width, bias = 1 if first_version else D_MODEL, first_version
        cross = "source_attention_block" if first_version else "cross_attention_block"
        self.encoder = Stack([Layer(width, bias) for _ in range(ENCODER_LAYERS)], width)
        self.decoder = Stack([Layer(width, bias, cross) for _ in range(DECODER_LAYERS)], width)
        self.src_embed, self.tgt_embed = Embedding(SRC_VOCAB), Embedding(TGT_VOCAB)
        self.src_pos, self.tgt_pos = Positions(), Positions()
        self.projection_layer = Projection()

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        x = self.src_embed.embedding(src) * math.sqrt(D_MODEL) + self.src_pos.pe[:, : src.shape[1]]
        memory = self.encoder(x, memory_mask, x, memory_mask)
        x = self.tgt_embed.embedding(tgt) * math.sqrt(D_MODEL) + self.tgt_pos.pe[:, : tgt.shape[1]]
        x = self.decoder(x, (tgt != PAD)[:, None, None] & causal(), memory, memory_mask)
        return self.projection_layer.proj(x)


@pytest.mark.parametrize("first_version", [False, True])
def test_parity(tmp_path: Path, first_version: bool) -> None:
    theirs = randomized(Theirs(first_version=first_version))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD)
    assert found.report.family == "hkproj"
    assert found.asked == ["n_heads", "pad_id"]
    assert found.model.config.max_len == MAX_LEN
    assert found.model.config.attention_bias == first_version


def test_the_trainers_file_opens(tmp_path: Path) -> None:
    model = Theirs()
    saved = {
        "epoch": 3,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": torch.optim.Adam(model.parameters()).state_dict(),
        "global_step": 1200,
    }
    torch.save(saved, tmp_path / "tmodel_03.pt")
    opened = open_checkpoint(tmp_path / "tmodel_03.pt")
    assert opened.report.family == "hkproj"
    assert opened.loaded is not None
    assert not opened.report.keys.unexpected


def test_a_norm_of_another_width_does_not_fit(tmp_path: Path) -> None:
    weights = Theirs().state_dict()
    weights["encoder.layers.1.residual_connections.0.norm.alpha"] = torch.ones(D_MODEL - 1)
    (wrong,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert wrong.name == "encoder.layers.1.residual_connections.0.norm.alpha"
