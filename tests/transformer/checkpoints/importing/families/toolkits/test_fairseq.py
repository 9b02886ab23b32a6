"""fairseq's Transformers: a module written from what they compute, and what becomes of its files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import, recognise
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.transformer import Transformer

D_MODEL, HEADS, D_FF = 24, 3, 37
SRC_VOCAB, TGT_VOCAB, PAD, MAX_LEN = 29, 31, 1, 19
S, T = 7, 5


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k_proj, self.v_proj, self.q_proj, self.out_proj = (nn.Linear(D_MODEL, D_MODEL) for _ in range(4))
        self.weights = torch.empty(0)

    def forward(self, query: Tensor, memory: Tensor, closed: Tensor) -> Tensor:
        q, k, v = (
            matrix(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for matrix, x in ((self.q_proj, query), (self.k_proj, memory), (self.v_proj, memory))
        )
        scores = (q * (D_MODEL // HEADS) ** -0.5) @ k.transpose(2, 3)
        self.weights = scores.masked_fill(closed, -math.inf).softmax(-1)
        return self.out_proj((self.weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, *, crossed: bool, norm_first: bool) -> None:
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = Attention(), nn.LayerNorm(D_MODEL)
        self.encoder_attn = Attention() if crossed else None
        self.encoder_attn_layer_norm = nn.LayerNorm(D_MODEL) if crossed else None
        self.fc1, self.fc2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)
        self.final_layer_norm = nn.LayerNorm(D_MODEL)
        self.norm_first = norm_first

    def forward(self, x: Tensor, closed: Tensor, memory: Tensor, memory_closed: Tensor) -> Tensor:
        x = self._around(x, self.self_attn_layer_norm, lambda y: self.self_attn(y, y, closed))
        cross, norm = self.encoder_attn, self.encoder_attn_layer_norm
        if cross is not None and norm is not None:
            x = self._around(x, norm, lambda y: cross(y, memory, memory_closed))
        return self._around(x, self.final_layer_norm, lambda y: self.fc2(self.fc1(y).relu()))

    def _around(self, x: Tensor, norm: nn.Module, compute: Callable[[Tensor], Tensor]) -> Tensor:
        return x + compute(norm(x)) if self.norm_first else norm(x + compute(x))


class Sinusoids(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("_float_tensor", torch.zeros(1))

    def forward(self, length: int) -> Tensor:
        half = D_MODEL // 2
        frequency = torch.exp(torch.arange(half) * -(math.log(10_000) / (half - 1)))
        angle = torch.outer(torch.arange(PAD + 1, PAD + 1 + length).float(), frequency)
        return torch.cat((angle.sin(), angle.cos()), dim=1)


class Learned(nn.Embedding):
    def __init__(self) -> None:
        super().__init__(PAD + 1 + MAX_LEN, D_MODEL, padding_idx=PAD)

    def forward(self, length: Any) -> Tensor:
        return self.weight[PAD + 1 : PAD + 1 + length]


class Stack(nn.Module):
    def __init__(
        self,
        vocab: int,
        n_layers: int,
        *,
        crossed: bool,
        norm_first: bool,
        learned: bool,
        embedding_norm: bool,
    ) -> None:
        super().__init__()
        self.register_buffer("version", torch.tensor([3.0]))
        self.embed_tokens = nn.Embedding(vocab, D_MODEL, padding_idx=PAD)
        self.embed_positions: nn.Module = Learned() if learned else Sinusoids()
        self.layernorm_embedding = nn.LayerNorm(D_MODEL) if embedding_norm else nn.Identity()
        self.layers = nn.ModuleList(Layer(crossed=crossed, norm_first=norm_first) for _ in range(n_layers))
        self.layer_norm = nn.LayerNorm(D_MODEL) if norm_first else nn.Identity()

    def forward(self, ids: Tensor, closed: Tensor, memory: Tensor, memory_closed: Tensor) -> Tensor:
        x = math.sqrt(D_MODEL) * self.embed_tokens(ids) + self.embed_positions(ids.shape[1])
        x = self.layernorm_embedding(x)
        for layer in self.layers:
            x = layer(x, closed, memory, memory_closed)
        return self.layer_norm(x)


class Decoder(Stack):
    def __init__(self, vocab: int, n_layers: int, **choices: bool) -> None:
        super().__init__(vocab, n_layers, **choices)
        self.output_projection = nn.Linear(D_MODEL, vocab, bias=False)


def closed_keys(ids: Tensor) -> Tensor:
    return (ids == PAD)[:, None, None]


def closed_later(ids: Tensor) -> Tensor:
    length = ids.shape[1]
    return closed_keys(ids) | torch.ones(length, length, dtype=torch.bool).triu(1)


class Translator(nn.Module):
    def __init__(self, *, tied: bool = False, **choices: bool) -> None:
        super().__init__()
        defaults = {"norm_first": False, "learned": False, "embedding_norm": False}
        self.encoder = Stack(SRC_VOCAB, 2, crossed=False, **(defaults | choices))
        self.decoder = Decoder(TGT_VOCAB, 3, crossed=True, **(defaults | choices))
        if tied:
            self.decoder.output_projection.weight = self.decoder.embed_tokens.weight
        randomized(self)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        closed = closed_keys(src)
        memory = self.encoder(src, closed, src, closed)
        return self.decoder.output_projection(self.decoder(tgt, closed_later(tgt), memory, closed))


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.decoder = Decoder(
            TGT_VOCAB, 3, crossed=False, norm_first=True, learned=False, embedding_norm=False
        )
        randomized(self)

    def forward(self, tgt: Tensor) -> Tensor:
        return self.decoder.output_projection(self.decoder(tgt, closed_later(tgt), tgt, closed_later(tgt)))


SRC = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
TGT = padded(random_ids(TGT_VOCAB, 2, T, seed=1), PAD, 3)


def assert_same(ours: Transformer, theirs: nn.Module, *texts: Tensor) -> None:
    with torch.no_grad():
        expected = theirs(*texts)
    trace = trace_of(ours, *(texts if len(texts) == 2 else (None, *texts)))
    assert close(trace["logits"], expected)
    for path, module in theirs.named_modules():
        if isinstance(module, Attention):
            assert close(trace[path.replace("encoder_attn", "cross_attn") + ".weights"], module.weights)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_parity(tmp_path: Path, norm_first: bool, learned: bool, tied: bool) -> None:
    theirs = Translator(tied=tied, norm_first=norm_first, learned=learned, embedding_norm=learned)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert report.family == "fairseq"
    assert {question.name: question.value for question in report.questions} == {
        "n_heads": HEADS,
        "activation": "relu",
        "embedding_scale": True,
    }
    assert_same(ours, theirs, SRC, TGT)


def test_a_language_model(tmp_path: Path) -> None:
    theirs = LanguageModel()
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert (report.family, ours.config.kind) == ("fairseq", "decoder-only")
    assert_same(ours, theirs, TGT)


def fused(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """As old versions stored attentions, norms and the generator."""
    norms = {
        "encoder": ("self_attn_layer_norm", "final_layer_norm"),
        "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
    }
    old: dict[str, Tensor] = {}
    for name, weight in weights.items():
        module, _, part = name.rpartition(".")
        if module.endswith(("k_proj", "v_proj")):
            continue
        if module.endswith("q_proj"):
            attention = module.removesuffix("q_proj")
            rows = [weights[f"{attention}{matrix}_proj.{part}"] for matrix in "qkv"]
            old[f"{attention}in_proj_{part}"] = torch.cat(rows)
            continue
        older = name.replace("output_projection.weight", "embed_out")
        for number, norm in enumerate(norms[name.partition(".")[0]] if ".layers." in name else ()):
            older = older.replace(f".{norm}.", f".layer_norms.{number}.")
        old[older] = weight
    return old


def test_old_files(tmp_path: Path) -> None:
    theirs = Translator()
    old = {name: weight for name, weight in fused(theirs.state_dict()).items() if "version" not in name}
    assert {"decoder.embed_out", "encoder.layers.1.layer_norms.1.bias"} <= old.keys()
    ours, report = imported(raw_of(tmp_path, old), {"n_heads": HEADS})
    assert "norm_position" in {question.name for question in report.questions}
    assert_same(ours, theirs, SRC, TGT)


ARGS = {
    "arch": "transformer_iwslt_de_en", "activation_fn": "relu", "no_scale_embedding": False,
    "max_source_positions": 512, "max_target_positions": 300, "share_all_embeddings": False,
    "no_token_positional_embeddings": False,
    **{
        f"{stack}_{name}": value
        for stack in ("encoder", "decoder")
        for name, value in {
            "embed_dim": D_MODEL, "ffn_embed_dim": D_FF, "layers": 2, "attention_heads": HEADS,
            "normalize_before": False, "learned_pos": False,
        }.items()
    },
}  # fmt: skip
IN_LEVELS = {
    "_name": "transformer",
    "activation_fn": "relu",
    "max_source_positions": 512,
    "max_target_positions": 300,
    "encoder": {
        "embed_dim": D_MODEL,
        "ffn_embed_dim": D_FF,
        "attention_heads": HEADS,
        "normalize_before": False,
    },
    "decoder": {
        "embed_dim": D_MODEL,
        "ffn_embed_dim": D_FF,
        "attention_heads": HEADS,
        "normalize_before": False,
    },
}


def raw_with(folder: Path, model: nn.Module, **extras: Any) -> RawCheckpoint:
    return replace(raw_of(folder, model.state_dict()), extras=extras)


@pytest.mark.parametrize(
    "extras", [{"args": ARGS}, {"args": None, "cfg": {"model": ARGS}}, {"cfg": {"model": IN_LEVELS}}]
)
def test_the_trainers_arguments_leave_nothing_to_ask(tmp_path: Path, extras: dict[str, Any]) -> None:
    theirs = Translator()
    ours, report = imported(raw_with(tmp_path, theirs, **extras))
    assert not report.questions
    assert (ours.config.n_heads, ours.config.max_len) == (HEADS, 300)
    assert_same(ours, theirs, SRC, TGT)


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"decoder_attention_heads": 4}, "args says decoder_attention_heads 4: another number of heads"),
        ({"encoder_normalize_before": True}, "args says encoder_normalize_before True"),
        ({"cross_self_attention": True}, "source and target at once"),
        ({"activation_fn": "linear"}, "activation_fn 'linear'"),
    ],
)
def test_what_the_arguments_refuse(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_with(tmp_path, Translator(), args=ARGS | changed), {})


def test_adaptive_embeddings_are_refused_by_name(tmp_path: Path) -> None:
    weights = LanguageModel().state_dict()
    weights["decoder.embed_tokens.embeddings.0.0.weight"] = weights.pop("decoder.embed_tokens.weight")
    with pytest.raises(CheckpointError, match="adaptive embeddings"):
        plan_import(raw_of(tmp_path, weights), {})


def test_files_of_hugging_face_stay_theirs(tmp_path: Path) -> None:
    weights = Translator().state_dict()
    theirs = {
        name: weight
        for name, weight in weights.items()
        if not name.endswith(("version", "_float_tensor", "output_projection.weight"))
    }
    assert "fairseq" not in [family.name for family, _ in recognise(raw_of(tmp_path, theirs))]
