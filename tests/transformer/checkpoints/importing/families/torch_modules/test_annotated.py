"""The Annotated Transformer: a module written from its published description computes the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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

D_MODEL, HEADS, D_FF = 22, 11, 37
SRC_VOCAB, TGT_VOCAB, PAD, MAX_LEN = 29, 31, 2, 19
S, T = 7, 5


class Layout(NamedTuple):
    """Where people's copies of the tutorial have norms."""

    norm_first: bool = True
    final_norm: bool = True


ORIGINAL = Layout()
LAYOUTS = [ORIGINAL, Layout(final_norm=False), Layout(norm_first=False), Layout(False, False)]


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(D_MODEL))
        self.b_2 = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b_2


class Attention(nn.Module):
    weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(D_MODEL, D_MODEL) for _ in range(4))

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            linear(x).view(len(x), -1, HEADS, D_MODEL // HEADS).transpose(1, 2)
            for linear, x in zip(self.linears, (query, memory, memory), strict=False)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        self.weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        z = (self.weights @ v).transpose(1, 2).contiguous().view(*query.shape)
        return self.linears[3](z)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(self.w_1(x).relu())


class Sublayer(nn.Module):
    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm = norm


class Layer(nn.Module):
    def __init__(self, norms: list[nn.Module], norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_attn = Attention()
        self.src_attn = Attention() if len(norms) == 3 else None
        self.feed_forward = FeedForward()
        self.sublayer = nn.ModuleList(map(Sublayer, norms))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self._around(0, x, lambda y: self.self_attn(y, y, mask))
        src_attn = self.src_attn
        if src_attn is not None:
            x = self._around(1, x, lambda y: src_attn(y, memory, memory_mask))
        return self._around(-1, x, self.feed_forward)

    def _around(self, index: int, x: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        sublayer = self.sublayer[index]
        assert isinstance(sublayer, Sublayer)
        return x + compute(sublayer.norm(x)) if self.norm_first else sublayer.norm(x + compute(x))


class Stack(nn.Module):
    def __init__(self, n_layers: int, n_attentions: int, norm: type[nn.Module], layout: Layout) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            Layer([norm() for _ in range(n_attentions + 1)], layout.norm_first) for _ in range(n_layers)
        )
        self.norm = norm() if layout.final_norm else nn.Identity()


class Embeddings(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.lut = nn.Embedding(vocab_size, D_MODEL)

    def forward(self, ids: Tensor) -> Tensor:
        return self.lut(ids) * math.sqrt(D_MODEL)


class Positions(nn.Module):
    pe: Tensor

    def __init__(self) -> None:
        super().__init__()
        angle = torch.arange(0, MAX_LEN).unsqueeze(1) * torch.exp(
            torch.arange(0, D_MODEL, 2) * -(math.log(10_000.0) / D_MODEL)
        )
        pe = torch.zeros(MAX_LEN, D_MODEL)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(angle), torch.cos(angle)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.size(1)]


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(D_MODEL, TGT_VOCAB)

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(self.proj(x), dim=-1)


class EncoderDecoder(nn.Module):
    def __init__(self, norm: type[nn.Module] = Norm, layout: Layout = ORIGINAL) -> None:
        super().__init__()
        self.encoder, self.decoder = Stack(2, 1, norm, layout), Stack(3, 2, norm, layout)
        self.src_embed = nn.Sequential(Embeddings(SRC_VOCAB), Positions())
        self.tgt_embed = nn.Sequential(Embeddings(TGT_VOCAB), Positions())
        self.generator = Generator()

    def forward(self, src: Tensor, tgt: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Log-probabilities, and each layer's output by the path of ours."""
        memory_mask = (src != PAD)[:, None, None]
        mask = (tgt != PAD)[:, None, None] & torch.ones(T, T, dtype=torch.bool).tril()
        states = {}
        x = self.src_embed(src)
        for i, layer in enumerate(self.encoder.layers):
            x = states[f"encoder.layers.{i}.resid_post"] = layer(x, memory_mask, x, memory_mask)
        memory = self.encoder.norm(x)
        if not isinstance(self.encoder.norm, nn.Identity):
            states["encoder.final_norm.result"] = memory
        x = self.tgt_embed(tgt)
        for i, layer in enumerate(self.decoder.layers):
            x = states[f"decoder.layers.{i}.resid_post"] = layer(x, mask, memory, memory_mask)
        return self.generator(self.decoder.norm(x)), states


class TorchNorm(nn.LayerNorm):
    def __init__(self) -> None:
        super().__init__(D_MODEL)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("norm", [Norm, TorchNorm])
def test_parity(tmp_path: Path, norm: type[nn.Module], layout: Layout) -> None:
    theirs = randomized(EncoderDecoder(norm, layout))
    norm_position = "pre" if layout.norm_first else "post"
    answers = {"n_heads": HEADS, "pad_id": PAD, "norm_position": norm_position}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert report.family == "annotated"
    assert ours.config.max_len == MAX_LEN
    src = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
    tgt = padded(random_ids(TGT_VOCAB, 2, T, seed=1), PAD, 3)
    with torch.no_grad():
        log_probabilities, states = theirs(src, tgt)
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"].log_softmax(-1), log_probabilities)
    for path, state in states.items():
        assert close(trace[path], state)
    for path, module in theirs.named_modules():
        if isinstance(module, Attention):
            assert close(trace[path.replace("src_attn", "cross_attn") + ".weights"], module.weights)


def test_one_matrix_for_all_words_is_seen(tmp_path: Path) -> None:
    theirs = EncoderDecoder()
    state_dict = theirs.state_dict()
    for name in ("src_embed.0.lut.weight", "generator.proj.weight"):
        state_dict[name] = state_dict["tgt_embed.0.lut.weight"]
    ours, _ = imported(raw_of(tmp_path, state_dict))
    assert ours.config.share_embeddings
    assert ours.generator.weight is ours.tgt_embedding.weight is ours.src_embedding.weight


def test_norms_before_the_sublayers_are_assumed_and_asked_for(tmp_path: Path) -> None:
    _, report = imported(raw_of(tmp_path, EncoderDecoder().state_dict()))
    question = next(question for question in report.questions if question.name == "norm_position")
    assert (question.value, question.answered) == ("pre", False)


def test_a_norm_after_one_stack_alone_stays_alone(tmp_path: Path) -> None:
    state_dict = EncoderDecoder().state_dict()
    del state_dict["encoder.norm.a_2"], state_dict["encoder.norm.b_2"]
    ours, _ = imported(raw_of(tmp_path, state_dict))
    assert ours.config.final_norm == "decoder"
    assert (ours.encoder.final_norm, ours.decoder.final_norm is None) == (None, False)
