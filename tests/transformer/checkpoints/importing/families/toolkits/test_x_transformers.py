"""x-transformers: weights imported from a reimplementation of its modules."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from transformer.errors import CheckpointError

D_MODEL, HEADS, D_HEAD, MAX_LEN, PAD = 20, 3, 14, 17, 0
SRC_VOCAB, TGT_VOCAB, S, T = 29, 31, 7, 5


class Norm(nn.Module):
    """The norm of newer versions: stores gamma - 1 and has no beta."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (D_MODEL,), self.gamma + 1)


class OlderNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(D_MODEL))
        self.register_buffer("beta", torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (D_MODEL,), self.gamma)


class RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return functional.normalize(x, dim=-1) * math.sqrt(D_MODEL) * (self.g + 1)


NORMS: dict[str, Callable[[], nn.Module]] = {
    "layer": Norm,
    "older": OlderNorm,
    "rms": RootMeanSquare,
    "torch": lambda: nn.LayerNorm(D_MODEL),
}


def turned(x: Tensor, frequencies: Tensor, halves: bool) -> Tensor:
    """x (B, H, T, d_head) with the first numbers of each head rotated."""
    n = 2 * len(frequencies)
    angle = torch.outer(torch.arange(x.shape[2]).float(), frequencies)
    first = x[..., :n]
    one, other = first.chunk(2, -1) if halves else (first[..., ::2], first[..., 1::2])
    pair = (one * angle.cos() - other * angle.sin(), other * angle.cos() + one * angle.sin())
    whole = torch.cat(pair, -1) if halves else torch.stack(pair, -1).flatten(-2)
    return torch.cat((whole, x[..., n:]), -1)


class Attention(nn.Module):
    def __init__(self, kv_heads: int) -> None:
        super().__init__()
        self.to_q = nn.Linear(D_MODEL, HEADS * D_HEAD, bias=False)
        self.to_k, self.to_v = (nn.Linear(D_MODEL, kv_heads * D_HEAD, bias=False) for _ in range(2))
        self.to_out = nn.Linear(HEADS * D_HEAD, D_MODEL, bias=False)
        self.weights = torch.empty(0)

    def forward(
        self, x: Tensor, memory: Tensor, closed: Tensor, frequencies: Tensor | None, halves: bool
    ) -> Tensor:
        q, k, v = (
            matrix(y).unflatten(-1, (-1, D_HEAD)).transpose(1, 2)
            for matrix, y in ((self.to_q, x), (self.to_k, memory), (self.to_v, memory))
        )
        if frequencies is not None:
            q, k = turned(q, frequencies, halves), turned(k, frequencies, halves)
        k, v = (part.repeat_interleave(HEADS // part.shape[1], dim=1) for part in (k, v))
        scores = (q @ k.transpose(2, 3)) * D_HEAD**-0.5
        self.weights = scores.masked_fill(closed, -torch.finfo(scores.dtype).max).softmax(-1)
        return self.to_out((self.weights @ v).transpose(1, 2).flatten(2))


class Glu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(D_MODEL, 2 * 4 * D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * functional.silu(gate)


class FeedForward(nn.Module):
    def __init__(self, *, gated: bool) -> None:
        super().__init__()
        into = Glu() if gated else nn.Sequential(nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU())
        self.ff = nn.Sequential(into, nn.Dropout(), nn.Linear(4 * D_MODEL, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.ff(x)


class Angles(nn.Module):
    inv_freq: Tensor

    def __init__(self, n: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1 / 10_000 ** (torch.arange(0, n, 2) / n))


class Layers(nn.Module):
    def __init__(
        self,
        depth: int,
        *,
        causal: bool,
        crossed: bool = False,
        norm: str = "layer",
        place: str = "pre",
        gated: bool = False,
        rotary: str = "",
        kv_heads: int = HEADS,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        before, after, main = place != "post", place == "both", place == "post"
        for _ in range(depth):
            for kind in "acf" if crossed else "af":
                norms: list[Any] = [NORMS[norm]() if there else None for there in (before, after, main)]
                block = FeedForward(gated=gated) if kind == "f" else Attention(kv_heads)
                self.layers.append(nn.ModuleList([nn.ModuleList(norms), block, nn.Identity()]))
        self.final_norm = nn.Identity() if main else NORMS[norm]()
        self.rotary_pos_emb = Angles(6) if rotary else None
        self.causal, self.crossed, self.halves = causal, crossed, rotary == "halves"

    def forward(
        self, x: Tensor, closed: Tensor, memory: Tensor | None, memory_closed: Tensor | None
    ) -> Tensor:
        frequencies = None if self.rotary_pos_emb is None else self.rotary_pos_emb.inv_freq
        kinds = ("acf" if self.crossed else "af") * len(self.layers)
        sublayers: Any = self.layers
        for kind, (norms, block, _) in zip(kinds, sublayers, strict=False):
            before, after, main = norms
            y = x if before is None else before(x)
            if kind == "a":
                y = block(y, y, closed, frequencies, self.halves)
            elif kind == "c":
                y = block(y, memory, memory_closed, None, False)
            else:
                y = block(y)
            x = x + (y if after is None else after(y))
            x = x if main is None else main(x)
        return self.final_norm(x)


class Words(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.emb = nn.Embedding(rows, D_MODEL)


class Wrapper(nn.Module):
    def __init__(
        self, vocab: int, layers: Layers, *, tied: bool = False, head: bool = True, positions: bool = True
    ) -> None:
        super().__init__()
        self.token_emb = Words(vocab)
        length = MAX_LEN if head else MAX_LEN + 4  # an encoder's table may be longer than its decoder's
        self.pos_emb = Words(length) if positions and layers.rotary_pos_emb is None else None
        self.attn_layers = layers
        self.to_logits = nn.Linear(D_MODEL, vocab, bias=False) if head and not tied else None
        self.tied = tied

    def forward(self, ids: Tensor, memory: Tensor | None = None, closed: Tensor | None = None) -> Tensor:
        x = self.token_emb.emb(ids)
        if self.pos_emb is not None:
            x = x + self.pos_emb.emb.weight[: ids.shape[1]] * D_MODEL**-0.5
        length = ids.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        own = later if self.attn_layers.causal else (ids == PAD)[:, None, None]
        x = self.attn_layers(x, own, memory, closed)
        if self.tied:
            return x @ self.token_emb.emb.weight.T * D_MODEL**-0.5
        return x if self.to_logits is None else self.to_logits(x)


class Autoregressive(nn.Module):
    def __init__(self, net: Wrapper) -> None:
        super().__init__()
        self.net = net


class XTransformer(nn.Module):
    def __init__(self, *, tied: bool) -> None:
        super().__init__()
        self.encoder = Wrapper(TGT_VOCAB if tied else SRC_VOCAB, Layers(2, causal=False), head=False)
        self.decoder = Autoregressive(Wrapper(TGT_VOCAB, Layers(3, causal=True, crossed=True)))
        if tied:
            self.decoder.net.token_emb = self.encoder.token_emb

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.decoder.net(tgt, self.encoder(src), (src == PAD)[:, None, None])


def attentions(layers: Layers) -> list[tuple[str, Tensor]]:
    block = ("self_attn", "cross_attn", "") if layers.crossed else ("self_attn", "")
    sublayers: Any = layers.layers
    return [
        (f"{i // len(block)}.{block[i % len(block)]}", sublayer.weights)
        for i, (_, sublayer, _) in enumerate(sublayers)
        if isinstance(sublayer, Attention)
    ]


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "older": {"norm": "older"},
    "torch's norm": {"norm": "torch"},
    "rms": {"norm": "rms"},
    "post": {"place": "post"},
    "both": {"place": "both"},
    "gated": {"gated": True},
    "rotary": {"rotary": "neighbours"},
    "older rotary": {"rotary": "halves", "norm": "older"},
    "shared": {"kv_heads": 1},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_decoder(tmp_path: Path, variant: str) -> None:
    layers = Layers(2, causal=True, **VARIANTS[variant])
    theirs = Autoregressive(Wrapper(TGT_VOCAB, layers))
    randomized(theirs)
    answers = {"n_heads": HEADS, "activation": "silu" if variant == "gated" else "gelu"}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert (report.family, ours.config.kind) == ("x_transformers", "decoder-only")
    tgt = random_ids(TGT_VOCAB, 2, T, first=0)
    with torch.no_grad():
        expected = theirs.net(tgt)
    trace = trace_of(ours, None, tgt)
    assert close(trace["logits"], expected)
    for path, weights in attentions(layers):
        assert close(trace[f"decoder.layers.{path}.weights"], weights)
    asked = {question.name for question in report.questions}
    assert ("gamma_offset" in asked) == (variant != "torch's norm")
    assert ("rotary_pairs" in asked) == ("rotary" in variant)


def test_encoder(tmp_path: Path) -> None:
    layers = Layers(2, causal=False)
    theirs = Wrapper(SRC_VOCAB, layers)
    randomized(theirs)
    answers = {"n_heads": HEADS, "causal": False, "pad_id": PAD}
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert ours.config.kind == "encoder-only"
    src = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
    with torch.no_grad():
        expected = theirs(src)
    trace = trace_of(ours, src, None)
    assert close(trace["logits"], expected)
    for path, weights in attentions(layers):
        assert close(trace[f"encoder.layers.{path}.weights"], weights)


@pytest.mark.parametrize("tied", [False, True])
def test_both_stacks(tmp_path: Path, tied: bool) -> None:
    theirs = XTransformer(tied=tied)
    randomized(theirs)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS, "pad_id": PAD})
    assert ours.config.share_embeddings == tied
    assert "causal" not in {question.name for question in report.questions}
    src = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
    tgt = random_ids(TGT_VOCAB, 2, T, first=1, seed=1)
    with torch.no_grad():
        expected = theirs(src, tgt)
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"], expected)
    for stack, layers in (
        ("encoder", theirs.encoder.attn_layers),
        ("decoder", theirs.decoder.net.attn_layers),
    ):
        for path, weights in attentions(layers):
            assert close(trace[f"{stack}.layers.{path}.weights"], weights)


def test_a_tied_generator_is_scaled_in_newer_versions(tmp_path: Path) -> None:
    theirs = Wrapper(TGT_VOCAB, Layers(2, causal=True), tied=True)
    randomized(theirs)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"n_heads": HEADS})
    assert {question.name: question.value for question in report.questions}["logits_scale"] is True
    tgt = random_ids(TGT_VOCAB, 2, T, first=0)
    with torch.no_grad():
        assert close(trace_of(ours, None, tgt)["logits"], theirs(tgt))


@pytest.mark.parametrize(
    "name, said",
    [
        ("attn_layers.rel_pos.relative_attention_bias.weight", "bias of the scores by distance"),
        ("attn_layers.layers.0.1.mem_k", "attn_num_mem_kv"),
        ("attn_layers.layers.1.1.some_new_thing", "an option of x-transformers"),
        ("memory_tokens", "num_memory_tokens"),
        ("project_emb.weight", "emb_dim"),
    ],
)
def test_other_options_are_refused(tmp_path: Path, name: str, said: str) -> None:
    weights = Wrapper(TGT_VOCAB, Layers(2, causal=True)).state_dict()
    with pytest.raises(CheckpointError, match=said):
        plan_import(raw_of(tmp_path, weights | {name: torch.zeros(3, 4)}), {})


def test_another_order_of_sublayers_is_refused(tmp_path: Path) -> None:
    weights = Wrapper(TGT_VOCAB, Layers(2, causal=True)).state_dict()
    swapped = {
        name.replace("layers.1.", "layers.9.")
        .replace("layers.0.", "layers.1.")
        .replace("layers.9.", "layers.0."): w
        for name, w in weights.items()
    }
    with pytest.raises(CheckpointError, match="another order"):
        plan_import(raw_of(tmp_path, swapped), {})


def test_versions_that_turn_values_are_refused(tmp_path: Path) -> None:
    weights = Wrapper(TGT_VOCAB, Layers(2, causal=True, norm="torch", rotary="halves")).state_dict()
    with pytest.raises(CheckpointError, match="turns the values"):
        plan_import(raw_of(tmp_path, weights), {"n_heads": HEADS})


def test_rows_that_no_heads_fit_are_refused(tmp_path: Path) -> None:
    weights = Wrapper(TGT_VOCAB, Layers(2, causal=True)).state_dict()
    for matrix in "qk":
        weights[f"attn_layers.layers.0.1.to_{matrix}.weight"] = torch.zeros(0, D_MODEL)
    with pytest.raises(CheckpointError, match="heads"):
        plan_import(raw_of(tmp_path, weights), {})


@pytest.mark.parametrize("n_heads", [0, 4])
def test_heads_that_can_not_be_are_refused(tmp_path: Path, n_heads: int) -> None:
    weights = Wrapper(TGT_VOCAB, Layers(2, causal=True)).state_dict()
    with pytest.raises(CheckpointError, match="heads are impossible"):
        plan_import(raw_of(tmp_path, weights), {"n_heads": n_heads})
