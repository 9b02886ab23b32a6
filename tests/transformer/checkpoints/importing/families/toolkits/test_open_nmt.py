"""OpenNMT-py's Transformers: a module written from what they compute, and what becomes of its files."""

from __future__ import annotations

import argparse
import math
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.opening import open_checkpoint
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer

D_MODEL, HEADS, D_FF = 24, 6, 37
SRC_VOCAB, TGT_VOCAB, PAD, MAX_LEN = 29, 31, 1, 19
S, T = 7, 5


class RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


def norm(rms: bool) -> nn.Module:
    return RootMeanSquare() if rms else nn.LayerNorm(D_MODEL, eps=1e-6)


class Attention(nn.Module):
    def __init__(self, *, bias: bool, kv_heads: int) -> None:
        super().__init__()
        width = D_MODEL // HEADS * kv_heads
        self.linear_keys, self.linear_values = (nn.Linear(D_MODEL, width, bias=bias) for _ in range(2))
        self.linear_query, self.final_linear = (nn.Linear(D_MODEL, D_MODEL, bias=bias) for _ in range(2))
        self.shared = HEADS // kv_heads
        self.weights = torch.empty(0)

    def forward(self, query: Tensor, memory: Tensor, closed: Tensor) -> Tensor:
        q, k, v = (
            linear(x).unflatten(-1, (-1, D_MODEL // HEADS)).transpose(1, 2)
            for linear, x in (
                (self.linear_query, query),
                (self.linear_keys, memory),
                (self.linear_values, memory),
            )
        )
        k, v = (part.repeat_interleave(self.shared, dim=1) for part in (k, v))
        scores = q @ k.transpose(2, 3) / math.sqrt(D_MODEL // HEADS)
        self.weights = scores.masked_fill(closed, -1e18).softmax(-1)
        return self.final_linear((self.weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, *, gated: bool, rms: bool) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)
        self.layer_norm = norm(rms)
        self.w_3 = nn.Linear(D_MODEL, D_FF) if gated else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.layer_norm(x)
        hidden = self.w_1(y).relu() if self.w_3 is None else functional.silu(self.w_1(y)) * self.w_3(y)
        return x + self.w_2(hidden)


class EncoderLayer(nn.Module):
    def __init__(self, bias: bool, kv_heads: int, gated: bool, rms: bool) -> None:
        super().__init__()
        self.self_attn = Attention(bias=bias, kv_heads=kv_heads)
        self.feed_forward = FeedForward(gated=gated, rms=rms)
        self.layer_norm = norm(rms)

    def forward(self, x: Tensor, closed: Tensor) -> Tensor:
        y = self.layer_norm(x)
        return self.feed_forward(x + self.self_attn(y, y, closed))


class DecoderLayer(nn.Module):
    def __init__(self, bias: bool, kv_heads: int, gated: bool, rms: bool, crossed: bool) -> None:
        super().__init__()
        self.self_attn = Attention(bias=bias, kv_heads=kv_heads)
        self.feed_forward = FeedForward(gated=gated, rms=rms)
        self.layer_norm_1 = norm(rms)
        self.context_attn = Attention(bias=bias, kv_heads=kv_heads) if crossed else None
        self.layer_norm_2 = norm(rms) if crossed else None

    def forward(self, x: Tensor, closed: Tensor, memory: Tensor, memory_closed: Tensor) -> Tensor:
        y = self.layer_norm_1(x)
        x = x + self.self_attn(y, y, closed)
        if self.context_attn is not None and self.layer_norm_2 is not None:
            x = x + self.context_attn(self.layer_norm_2(x), memory, memory_closed)
        return self.feed_forward(x)


class Positions(nn.Module):
    pe: Tensor

    def __init__(self, *, concat: bool) -> None:
        super().__init__()
        half, position = D_MODEL // 2, torch.arange(MAX_LEN)[:, None]
        angle = position * torch.exp(
            torch.arange(half) * -(math.log(10_000) / (half - 1 if concat else half))
        )
        pairs = (angle.sin(), angle.cos())
        pe = torch.cat(pairs, 1) if concat else torch.stack(pairs, -1).flatten(1)
        self.register_buffer("pe", pe[:, None])


class Embeddings(nn.Module):
    def __init__(self, vocab: int, *, concat: bool, positions: bool) -> None:
        super().__init__()
        parts: dict[str, nn.Module] = {"emb_luts": nn.ModuleList([nn.Embedding(vocab, D_MODEL)])}
        if positions:
            parts["pe"] = Positions(concat=concat)
        self.make_embedding = nn.ModuleDict(parts)

    def forward(self, ids: Tensor) -> Tensor:
        luts = self.make_embedding["emb_luts"]
        assert isinstance(luts, nn.ModuleList)
        x = luts[0](ids)
        if "pe" not in self.make_embedding:
            return x
        table = self.make_embedding["pe"]
        assert isinstance(table, Positions)
        return x * math.sqrt(D_MODEL) + table.pe[: ids.shape[1], 0]


class Encoder(nn.Module):
    def __init__(self, embeddings: Embeddings, layers: list[EncoderLayer], rms: bool) -> None:
        super().__init__()
        self.embeddings, self.transformer = embeddings, nn.ModuleList(layers)
        self.layer_norm = norm(rms)


class Decoder(nn.Module):
    def __init__(self, embeddings: Embeddings, layers: list[DecoderLayer], rms: bool) -> None:
        super().__init__()
        self.embeddings, self.transformer_layers = embeddings, nn.ModuleList(layers)
        self.layer_norm = norm(rms)


class Model(nn.Module):
    def __init__(
        self,
        *,
        crossed: bool = True,
        second: bool = True,
        concat: bool = False,
        positions: bool = True,
    ) -> None:
        super().__init__()
        choices = (second, HEADS if second else 2, not second, not second)  # bias, kv_heads, gated, rms
        rms = not second
        if crossed:
            embeddings = Embeddings(SRC_VOCAB, concat=concat, positions=positions)
            self.encoder = Encoder(embeddings, [EncoderLayer(*choices) for _ in range(2)], rms)
        embeddings = Embeddings(TGT_VOCAB, concat=concat, positions=positions)
        self.decoder = Decoder(embeddings, [DecoderLayer(*choices, crossed) for _ in range(3)], rms)
        generator = nn.Linear(D_MODEL, TGT_VOCAB)
        self.generator = nn.Sequential(generator, nn.LogSoftmax(dim=-1)) if second else generator
        randomized(self)

    def forward(self, src: Tensor | None, tgt: Tensor) -> Tensor:
        """Log-probabilities."""
        memory, memory_closed = torch.empty(0), torch.empty(0)
        if src is not None:
            memory_closed = (src == PAD)[:, None, None]
            memory = self.encoder.embeddings(src)
            for layer in self.encoder.transformer:
                memory = layer(memory, memory_closed)
            memory = self.encoder.layer_norm(memory)
        length = tgt.shape[1]
        closed = (tgt == PAD)[:, None, None] | torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.decoder.embeddings(tgt)
        for layer in self.decoder.transformer_layers:
            x = layer(x, closed, memory, memory_closed)
        return self.generator(self.decoder.layer_norm(x)).log_softmax(-1)


SRC = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
TGT = padded(random_ids(TGT_VOCAB, 2, T, seed=1), PAD, 3)
OURS = {
    "encoder.transformer": "encoder.layers",
    "decoder.transformer_layers": "decoder.layers",
    "context_attn": "cross_attn",
}


def path_of(theirs: str) -> str:
    """What our trace calls one of their attentions."""
    return reduce(lambda path, name: path.replace(name, OURS[name]), OURS, theirs)


def assert_same(ours: Transformer, theirs: Model, src: Tensor | None, tgt: Tensor) -> None:
    with torch.no_grad():
        expected = theirs(src, tgt)
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"].log_softmax(-1), expected)
    for name, module in theirs.named_modules():
        if isinstance(module, Attention):
            assert close(trace[f"{path_of(name)}.weights"], module.weights)


@pytest.mark.parametrize("concat", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_parity(tmp_path: Path, second: bool, concat: bool) -> None:
    theirs = Model(second=second, concat=concat)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert report.family == "open_nmt"
    assert (ours.config.norm, ours.config.gated) == (("layer", False) if second else ("rms", True))
    assert {question.name: question.value for question in report.questions} == {
        "n_heads": HEADS,
        "norm_eps": 1e-6,
        "activation": "relu" if second else "silu",
        "pad_id": PAD,
    }
    assert_same(ours, theirs, SRC, TGT)


def test_a_language_model_without_positions(tmp_path: Path) -> None:
    theirs = Model(crossed=False, positions=False)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert (report.family, ours.config.kind) == ("open_nmt", "decoder-only")
    assert_same(ours, theirs, None, TGT)


def saved(path: Path, theirs: Model, opt: dict[str, Any]) -> Path:
    """As the trainer saves it: the generator apart, without its first name."""
    weights = theirs.state_dict()
    generator = "generator."
    torch.save(
        {
            "model": {name: weight for name, weight in weights.items() if not name.startswith(generator)},
            "generator": {
                name.removeprefix(generator): weight
                for name, weight in weights.items()
                if name.startswith(generator)
            },
            "vocab": {"src": ["<unk>", "<blank>", "<s>", "</s>"]},
            "opt": argparse.Namespace(**opt),
            "optim": {"training_step": 7, "optimizer": torch.optim.Adam(theirs.parameters()).state_dict()},
        },
        path,
    )
    return path


OPT = {"heads": HEADS, "pos_ffn_activation_fn": "relu", "max_relative_positions": 0, "layers": 2}


@pytest.mark.parametrize("second", [False, True])
def test_the_trainers_file(tmp_path: Path, second: bool) -> None:
    theirs = Model(second=second)
    opt = OPT if second else OPT | {"pos_ffn_activation_fn": "silu", "norm_eps": 1e-6}
    opened = open_checkpoint(saved(tmp_path / "model_step_7.pt", theirs, opt))
    assert opened.loaded is not None
    assert not opened.report.questions
    assert opened.report.config.pad_id == PAD
    assert not opened.report.keys.unexpected
    assert_same(opened.loaded.model, theirs, SRC, TGT)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"max_relative_positions": -1}, "opt says max_relative_positions -1: relative or rotary"),
        ({"parallel_residual": True}, "beside each other"),
        ({"heads": 5}, "5 heads can't be"),
        ({"sliding_window": 4}, "sliding_window 4"),
    ],
)
def test_what_the_options_refuse(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(saved(tmp_path / "model.pt", Model(), OPT | changed))


@pytest.mark.parametrize(
    "name, said",
    [
        ("decoder.transformer_layers.0.self_attn.relative_positions_embeddings.weight", "relative positions"),
        ("encoder.embeddings.make_embedding.emb_luts.1.weight", "features"),
        ("decoder.copy_attn.linear_in.weight", "copies words"),
    ],
)
def test_what_is_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_of(tmp_path, Model().state_dict() | {name: torch.zeros(3, 4)}), {})
