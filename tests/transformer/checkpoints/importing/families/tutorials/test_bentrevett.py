"""bentrevett/pytorch-seq2seq: a module written as each version is described computes the same numbers."""

from __future__ import annotations

import math
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
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    attend,
    causal,
    compared,
)
from transformer.checkpoints.importing.recognition import plan_import

PAD = 1
NAMES = {
    "self_attention": "self_attn",
    "encoder_attention": "cross_attn",
    ".sa": ".self_attn",
    ".ea": ".cross_attn",
}


class Version(NamedTuple):
    """What the parts are called; norms of encoder and decoder layers in the order of the sublayers."""

    attention: tuple[str, str]
    projections: tuple[str, str, str, str]
    feed_forward: str
    convolutions: bool
    norms: tuple[str, str, str]
    generator: str


CURRENT = Version(
    ("self_attention", "encoder_attention"),
    ("fc_q", "fc_k", "fc_v", "fc_o"),
    "positionwise_feedforward",
    False,
    ("self_attn_layer_norm", "enc_attn_layer_norm", "ff_layer_norm"),
    "fc_out",
)
SHARED_NORM = CURRENT._replace(norms=("layer_norm",) * 3)
FIRST = Version(("sa", "ea"), ("w_q", "w_k", "w_v", "fc"), "pf", True, ("ln",) * 3, "fc")
VERSIONS = {"current": CURRENT, "shared norm": SHARED_NORM, "first": FIRST}


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        for name in names:
            self.add_module(name, nn.Linear(D_MODEL, D_MODEL))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v, o = map(self.get_submodule, self.names)
        z, self.weights = attend(q(x), k(memory), v(memory), mask)
        return o(z)


class FeedForward(nn.Module):
    def __init__(self, convolutions: bool) -> None:
        super().__init__()
        self.convolutions = convolutions
        if convolutions:
            self.fc_1: nn.Module = nn.Conv1d(D_MODEL, D_FF, 1)
            self.fc_2: nn.Module = nn.Conv1d(D_FF, D_MODEL, 1)
        else:
            self.fc_1, self.fc_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        if self.convolutions:
            return self.fc_2(self.fc_1(x.permute(0, 2, 1)).relu()).permute(0, 2, 1)
        return self.fc_2(self.fc_1(x).relu())


class Layer(nn.Module):
    def __init__(self, version: Version, *, cross: bool) -> None:
        super().__init__()
        self.version, self.cross = version, cross
        for name in version.attention[: 1 + cross]:
            self.add_module(name, Attention(version.projections))
        self.add_module(version.feed_forward, FeedForward(version.convolutions))
        for name in dict.fromkeys(version.norms if cross else version.norms[::2]):
            self.add_module(name, nn.LayerNorm(D_MODEL))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        part = self.get_submodule
        self_attention, cross_attention = self.version.attention
        first, second, third = self.version.norms
        x = part(first)(x + part(self_attention)(x, x, mask))
        if self.cross:
            x = part(second)(x + part(cross_attention)(x, memory, memory_mask))
        return part(third)(x + part(self.version.feed_forward)(x))


class Stack(nn.Module):
    def __init__(self, vocab_size: int, layers: list[Layer]) -> None:
        super().__init__()
        self.tok_embedding = nn.Embedding(vocab_size, D_MODEL)
        self.pos_embedding = nn.Embedding(MAX_LEN, D_MODEL)
        self.layers = nn.ModuleList(layers)

    def embed(self, ids: Tensor) -> Tensor:
        return self.tok_embedding(ids) * math.sqrt(D_MODEL) + self.pos_embedding.weight[: ids.shape[1]]


class Theirs(nn.Module):
    def __init__(self, version: Version = CURRENT) -> None:
        super().__init__()
        self.encoder = Stack(SRC_VOCAB, [Layer(version, cross=False) for _ in range(ENCODER_LAYERS)])
        self.decoder = Stack(TGT_VOCAB, [Layer(version, cross=True) for _ in range(DECODER_LAYERS)])
        self.generator = version.generator
        self.decoder.add_module(version.generator, nn.Linear(D_MODEL, TGT_VOCAB))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder.embed(src)
        for layer in self.encoder.layers:
            memory = layer(memory, memory_mask, memory, memory_mask)
        x = self.decoder.embed(tgt)
        for layer in self.decoder.layers:
            x = layer(x, (tgt != PAD)[:, None, None] & causal(), memory, memory_mask)
        return self.decoder.get_submodule(self.generator)(x)


@pytest.mark.parametrize("version", VERSIONS)
def test_parity(tmp_path: Path, version: str) -> None:
    found = compared(tmp_path, randomized(Theirs(VERSIONS[version])), NAMES, pad_id=PAD)
    assert found.report.family == "bentrevett"
    assert found.asked == ["n_heads", "pad_id"]
    assert (found.model.config.positions, found.model.config.max_len) == ("learned", MAX_LEN)
    assert any("share one norm" in note for note in found.report.notes) == (version != "current")


def test_a_wider_convolution_does_not_fit(tmp_path: Path) -> None:
    weights = Theirs(FIRST).state_dict()
    weights["encoder.layers.1.pf.fc_1.weight"] = torch.zeros(D_FF, D_MODEL, 3)
    (wrong,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert wrong.name == "encoder.layers.1.pf.fc_1.weight"
