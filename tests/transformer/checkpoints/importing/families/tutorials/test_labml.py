"""labml.ai's annotated transformers: modules written as described compute the same numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

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
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEADS,
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    S,
    attend,
    causal,
    compared,
    sinusoids,
)
from tests.transformer.model.core import trace_of

PAD = 0
NAMES = {"src_attn": "cross_attn"}


class Version(NamedTuple):
    """Arguments of the modules: biases of queries and keys, the feed-forward's gate, learned positions."""

    bias: bool = True
    gated: bool = False
    learned: bool = False


class Prepare(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(D_MODEL, D_MODEL, bias=bias)


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.query, self.key, self.value = Prepare(bias), Prepare(bias), Prepare(True)
        self.output = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.query.linear(x), self.key.linear(memory), self.value.linear(memory)
        z, self.weights = attend(q, k, v, mask)
        return self.output(z)


class FeedForward(nn.Module):
    def __init__(self, gated: bool) -> None:
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)
        self.linear_v = nn.Linear(D_MODEL, D_FF) if gated else None

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.layer1(x).relu()
        return self.layer2(hidden if self.linear_v is None else hidden * self.linear_v(x))


class Layer(nn.Module):
    def __init__(self, version: Version, *, cross: bool) -> None:
        super().__init__()
        self.self_attn, self.feed_forward = Attention(version.bias), FeedForward(version.gated)
        self.norm_self_attn, self.norm_ff = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        self.src_attn = Attention(version.bias) if cross else None
        self.norm_src_attn = nn.LayerNorm(D_MODEL) if cross else None

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        y = self.norm_self_attn(x)
        x = x + self.self_attn(y, y, mask)
        if self.src_attn is not None and self.norm_src_attn is not None:
            x = x + self.src_attn(self.norm_src_attn(x), memory, memory_mask)
        return x + self.feed_forward(self.norm_ff(x))


class Stack(nn.Module):
    def __init__(self, layers: list[Layer]) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask, memory, memory_mask)
        return self.norm(x)


class Embedding(nn.Module):
    positional_encodings: Tensor

    def __init__(self, vocab_size: int, learned: bool) -> None:
        super().__init__()
        self.linear = nn.Embedding(vocab_size, D_MODEL)
        if learned:
            self.positional_encodings = nn.Parameter(torch.zeros(MAX_LEN, 1, D_MODEL))
        else:
            self.register_buffer("positional_encodings", sinusoids()[:, None])

    def forward(self, ids: Tensor) -> Tensor:
        return self.linear(ids) * math.sqrt(D_MODEL) + self.positional_encodings[: ids.shape[1], 0]


class Generator(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(D_MODEL, vocab_size)


class Theirs(nn.Module):
    def __init__(self, version: Version = Version()) -> None:  # noqa: B008 (it is immutable)
        super().__init__()
        self.encoder = Stack([Layer(version, cross=False) for _ in range(ENCODER_LAYERS)])
        self.decoder = Stack([Layer(version, cross=True) for _ in range(DECODER_LAYERS)])
        self.src_embed = Embedding(SRC_VOCAB, version.learned)
        self.tgt_embed = Embedding(TGT_VOCAB, version.learned)
        self.generator = Generator(TGT_VOCAB)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.src_embed(src)
        memory = self.encoder(memory, memory_mask, memory, memory_mask)
        mask = (tgt != PAD)[:, None, None] & causal()
        return self.generator.projection(self.decoder(self.tgt_embed(tgt), mask, memory, memory_mask))


class Lone(nn.Module):
    """A language model: encoder layers, under a causal mask or under none."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Stack([Layer(Version(), cross=False) for _ in range(ENCODER_LAYERS)])
        self.src_embed, self.generator = Embedding(SRC_VOCAB, False), Generator(SRC_VOCAB)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.src_embed(ids)
        return self.generator.projection(self.encoder(x, mask, x, mask))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_parity(tmp_path: Path, bias: bool, gated: bool, learned: bool) -> None:
    theirs = randomized(Theirs(Version(bias, gated, learned)))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD)
    assert found.report.family == "labml"
    assert found.asked == ["n_heads", "activation", "pad_id"]
    config = found.model.config
    assert (config.gated, config.max_len) == (gated, MAX_LEN)
    assert config.positions == ("learned" if learned else "sinusoidal")


@pytest.mark.parametrize("is_causal", [True, False])
def test_a_lone_stack(tmp_path: Path, is_causal: bool) -> None:
    theirs = randomized(Lone())
    answers = {"n_heads": HEADS, "causal": is_causal, "pad_id": PAD}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert [question.name for question in report.questions] == ["n_heads", "activation", "causal", "pad_id"]
    assert ours.config.kind == ("decoder-only" if is_causal else "encoder-only")
    ids = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
    is_word = ids != PAD
    with torch.no_grad():
        expected = theirs(ids, is_word[:, None, None] & (causal(S) if is_causal else True))
    trace = trace_of(ours, None, ids) if is_causal else trace_of(ours, ids, None)
    assert close(trace["logits"][is_word], expected[is_word])
    attentions = [module for module in theirs.modules() if isinstance(module, Attention)]
    for i, attention in enumerate(attentions):
        weights = trace.attention("decoder" if is_causal else "encoder", i, "self_attn").weights
        assert close(weights.transpose(1, 2)[is_word], attention.weights.transpose(1, 2)[is_word])
