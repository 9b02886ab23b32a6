"""gordicaleksa/pytorch-original-transformer: a module written as described computes the same numbers."""

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
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

PAD = 1
NAMES = {
    "trg_multi_headed_attention": "self_attn",
    "src_multi_headed_attention": "cross_attn",
    "multi_headed_attention": "self_attn",
    "encoder_layers": "layers",
    "decoder_layers": "layers",
}


class Attention(nn.Module):
    weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.qkv_nets = nn.ModuleList(nn.Linear(D_MODEL, D_MODEL) for _ in range(3))
        self.out_projection_net = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (net(y) for net, y in zip(self.qkv_nets, (x, memory, memory), strict=True))
        z, self.weights = attend(q, k, v, mask)
        return self.out_projection_net(z)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.linear1(x).relu())


class Sublayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        return x + compute(self.norm(x))


class EncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sublayers = nn.ModuleList(Sublayer() for _ in range(2))
        self.multi_headed_attention, self.pointwise_net = Attention(), FeedForward()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.sublayers[0](x, lambda y: self.multi_headed_attention(y, y, mask))
        return self.sublayers[1](x, self.pointwise_net)


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sublayers = nn.ModuleList(Sublayer() for _ in range(3))
        self.trg_multi_headed_attention, self.src_multi_headed_attention = Attention(), Attention()
        self.pointwise_net = FeedForward()

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.sublayers[0](x, lambda y: self.trg_multi_headed_attention(y, y, mask))
        x = self.sublayers[1](x, lambda y: self.src_multi_headed_attention(y, memory, memory_mask))
        return self.sublayers[2](x, self.pointwise_net)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder_layers = nn.ModuleList(EncoderLayer() for _ in range(ENCODER_LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.decoder_layers = nn.ModuleList(DecoderLayer() for _ in range(DECODER_LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embeddings_table = nn.Embedding(vocab_size, D_MODEL)


class Positions(nn.Module):
    positional_encodings_table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positional_encodings_table", sinusoids())

    def forward(self, x: Tensor) -> Tensor:
        return x * math.sqrt(D_MODEL) + self.positional_encodings_table[: x.shape[1]]


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(D_MODEL, TGT_VOCAB)


class Theirs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.src_embedding, self.trg_embedding = Embedding(SRC_VOCAB), Embedding(TGT_VOCAB)
        self.src_pos_embedding, self.trg_pos_embedding = Positions(), Positions()
        self.encoder, self.decoder = Encoder(), Decoder()
        self.decoder_generator = Generator()

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.src_pos_embedding(self.src_embedding.embeddings_table(src))
        for layer in self.encoder.encoder_layers:
            memory = layer(memory, memory_mask)
        memory = self.encoder.norm(memory)
        x = self.trg_pos_embedding(self.trg_embedding.embeddings_table(tgt))
        for layer in self.decoder.decoder_layers:
            x = layer(x, (tgt != PAD)[:, None, None] & causal(), memory, memory_mask)
        logits = self.decoder_generator.linear(self.decoder.norm(x))
        return logits.log_softmax(-1).reshape(-1, TGT_VOCAB)


def test_parity(tmp_path: Path) -> None:
    found = compared(tmp_path, randomized(Theirs()), NAMES, pad_id=PAD)
    assert found.report.family == "gordicaleksa"
    assert found.asked == ["n_heads", "pad_id"]
    assert (found.model.config.positions, found.model.config.max_len) == ("sinusoidal", MAX_LEN)


@pytest.mark.parametrize("shape", [(), (D_MODEL,)])
def test_a_table_of_positions_without_rows_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    weights = Theirs().state_dict()
    weights["src_pos_embedding.positional_encodings_table"] = torch.zeros(shape)
    with pytest.raises(CheckpointError, match="src_positions"):
        plan_import(raw_of(tmp_path, weights), {})
