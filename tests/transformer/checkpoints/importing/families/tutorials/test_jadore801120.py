"""jadore801120/attention-is-all-you-need-pytorch: modules written as described compute the same numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

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
    sinusoids,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

PAD = 1
NAMES = {"layer_stack": "layers", "slf_attn": "self_attn", "enc_attn": "cross_attn"}


class Version(NamedTuple):
    """What differs between versions, and what is an argument.

    Attributes:
        old: that of 2018, with biases, convolutions and positions from 1.
        norm_first: whether sublayers begin with their norm.
        d_k: width of a head.
        scaled: "prj", "emb" or "none" where generator and embedding are one matrix; nothing for two.
    """

    old: bool = False
    norm_first: bool = False
    d_k: int = D_MODEL // HEADS
    scaled: str = ""

    @property
    def eps(self) -> float:
        return 1e-5 if self.old else 1e-6


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, version: Version) -> None:
        super().__init__()
        self.norm_first, width = version.norm_first, HEADS * version.d_k
        self.w_qs, self.w_ks, self.w_vs = (nn.Linear(D_MODEL, width, bias=version.old) for _ in range(3))
        self.fc = nn.Linear(width, D_MODEL, bias=version.old)
        self.layer_norm = nn.LayerNorm(D_MODEL, eps=version.eps)

    def forward(self, x: Tensor, memory: Tensor | None, mask: Tensor) -> Tensor:
        """Self-attention where there is no memory."""
        y = self.layer_norm(x) if self.norm_first else x
        memory = y if memory is None else memory
        z, self.weights = attend(self.w_qs(y), self.w_ks(memory), self.w_vs(memory), mask)
        return x + self.fc(z) if self.norm_first else self.layer_norm(x + self.fc(z))


class FeedForward(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.version = version
        if version.old:
            self.w_1: nn.Module = nn.Conv1d(D_MODEL, D_FF, 1)
            self.w_2: nn.Module = nn.Conv1d(D_FF, D_MODEL, 1)
        else:
            self.w_1, self.w_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)
        self.layer_norm = nn.LayerNorm(D_MODEL, eps=version.eps)

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer_norm(x) if self.version.norm_first else x
        if self.version.old:
            y = self.w_2(self.w_1(y.transpose(1, 2)).relu()).transpose(1, 2)
        else:
            y = self.w_2(self.w_1(y).relu())
        return x + y if self.version.norm_first else self.layer_norm(x + y)


class Layer(nn.Module):
    def __init__(self, version: Version, *, cross: bool) -> None:
        super().__init__()
        self.slf_attn, self.pos_ffn = Attention(version), FeedForward(version)
        self.enc_attn = Attention(version) if cross else None

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.slf_attn(x, None, mask)
        if self.enc_attn is not None:
            x = self.enc_attn(x, memory, memory_mask)
        return self.pos_ffn(x)


class Positions(nn.Module):
    pos_table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pos_table", sinusoids()[None])


def counted_from_1() -> nn.Embedding:
    """Row 0, that of padding, is zero."""
    table = sinusoids(MAX_LEN + 1)
    table[0] = 0
    return nn.Embedding.from_pretrained(table)


class Stack(nn.Module):
    def __init__(self, version: Version, word_emb: str, vocab_size: int, n_layers: int) -> None:
        super().__init__()
        self.version, self.word_emb = version, word_emb
        self.add_module(word_emb, nn.Embedding(vocab_size, D_MODEL))
        self.position_enc: nn.Module = counted_from_1() if version.old else Positions()
        is_decoder = word_emb != "src_word_emb"
        self.layer_stack = nn.ModuleList(Layer(version, cross=is_decoder) for _ in range(n_layers))
        self.layer_norm = None if version.old else nn.LayerNorm(D_MODEL, eps=1e-6)

    def forward(self, ids: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor) -> Tensor:
        x = self.get_submodule(self.word_emb)(ids)
        if self.version.scaled == "emb":
            x = x * math.sqrt(D_MODEL)
        if isinstance(self.position_enc, Positions):
            x = x + self.position_enc.pos_table[:, : ids.shape[1]]
        else:
            x = x + self.position_enc((torch.arange(ids.shape[1]) + 1) * (ids != PAD))
        if self.layer_norm is not None and not self.version.norm_first:
            x = self.layer_norm(x)
        for layer in self.layer_stack:
            x = layer(x, mask, memory, memory_mask)
        return self.layer_norm(x) if self.layer_norm is not None and self.version.norm_first else x


AS_PUBLISHED = Version()


class Theirs(nn.Module):
    def __init__(self, version: Version = AS_PUBLISHED) -> None:
        super().__init__()
        self.scaled = version.scaled
        side = "tgt" if version.old else "trg"
        self.encoder = Stack(version, "src_word_emb", SRC_VOCAB, ENCODER_LAYERS)
        self.decoder = Stack(version, f"{side}_word_emb", TGT_VOCAB, DECODER_LAYERS)
        self.prj = f"{side}_word_prj"
        self.add_module(self.prj, nn.Linear(D_MODEL, TGT_VOCAB, bias=False))
        if version.scaled:
            embedding = self.decoder.get_submodule(f"{side}_word_emb")
            self.get_submodule(self.prj).weight = embedding.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder(src, memory_mask, None, memory_mask)
        x = self.decoder(tgt, (tgt != PAD)[:, None, None] & causal(), memory, memory_mask)
        logits = self.get_submodule(self.prj)(x)
        return logits * D_MODEL**-0.5 if self.scaled == "prj" else logits


@pytest.mark.parametrize("scaled", ["", "prj", "emb", "none"])
def test_parity(tmp_path: Path, scaled: str) -> None:
    answers: dict[str, Any] = {"scale_emb_or_prj": scaled} if scaled else {}
    theirs = randomized(Theirs(Version(scaled=scaled)))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, **answers)
    assert found.report.family == "jadore801120"
    asked = ["n_heads", *answers, "norm_position", "place_of_layer_norm", "pad_id"]
    assert found.asked == asked
    assert (found.model.config.positions, found.model.config.max_len) == ("sinusoidal", MAX_LEN)


def test_norms_before_the_sublayers(tmp_path: Path) -> None:
    theirs = randomized(Theirs(Version(norm_first=True)))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, norm_position="pre")
    assert (found.model.config.final_norm, found.model.config.embedding_norm) == (True, False)


def test_heads_of_another_width(tmp_path: Path) -> None:
    found = compared(tmp_path, randomized(Theirs(Version(d_k=11))), NAMES, pad_id=PAD)
    assert found.model.config.d_head == 11


@pytest.mark.parametrize("n_heads", [0, -3, 2**62])
def test_impossible_numbers_of_heads_are_refused(tmp_path: Path, n_heads: int) -> None:
    raw = raw_of(tmp_path, Theirs(Version(d_k=11)).state_dict())
    with pytest.raises(CheckpointError):
        plan_import(raw, {"n_heads": n_heads})


def test_the_version_of_2018(tmp_path: Path) -> None:
    found = compared(tmp_path, randomized(Theirs(Version(old=True))), NAMES, pad_id=PAD)
    assert found.asked == ["n_heads", "pad_id"]
    assert (found.model.config.positions, found.model.config.max_len) == ("learned", MAX_LEN)
    assert found.report.questions[-1].options[0].value == 0


def test_what_is_assumed(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, Theirs(Version(scaled="prj")).state_dict()), {}).report
    assert report.config.pad_id == PAD
    assumed = {question.name: question.value for question in report.questions}
    assert assumed["scale_emb_or_prj"] == "prj"
    assert (assumed["norm_position"], assumed["place_of_layer_norm"]) == ("post", "embeddings")
    assert (report.config.logits_scale, report.config.embedding_norm) == (True, True)
    sources = {setting.name: setting.source for setting in report.settings}
    assert {sources["logits_scale"], sources["embedding_norm"]} == {"assumed"}
