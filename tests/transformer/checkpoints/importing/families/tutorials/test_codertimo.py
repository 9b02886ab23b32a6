"""codertimo/BERT-pytorch: an independent forward of its encoder and head gives the same numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.model.core import trace_of

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 37, 30, 5, 3, 19
Weights = dict[str, Tensor]


def sinusoids() -> Tensor:
    """(1, LENGTH, D_MODEL): sines in even columns, cosines in odd ones."""
    angles = torch.arange(LENGTH)[:, None] / 10_000 ** (torch.arange(0, D_MODEL, 2) / D_MODEL)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[None]


def weights_of(seed: int = 0) -> Weights:
    """A model as the trainer would save it with its heads, all of its parameters random."""
    generator = torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {"token.weight": (VOCAB, D_MODEL), "segment.weight": (3, D_MODEL)}
    shapes = {f"bert.embedding.{name}": shape for name, shape in shapes.items()}
    linear = {f"attention.linear_layers.{i}": (D_MODEL, D_MODEL) for i in range(3)}
    linear |= {"attention.output_linear": (D_MODEL, D_MODEL)}
    linear |= {"feed_forward.w_1": (4 * D_MODEL, D_MODEL), "feed_forward.w_2": (D_MODEL, 4 * D_MODEL)}
    for block in (f"bert.transformer_blocks.{i}" for i in range(LAYERS)):
        shapes |= {f"{block}.{name}.weight": shape for name, shape in linear.items()}
        shapes |= {f"{block}.{name}.bias": shape[:1] for name, shape in linear.items()}
        for norm in ("input_sublayer.norm", "output_sublayer.norm"):
            shapes |= {f"{block}.{norm}.{part}": (D_MODEL,) for part in ("a_2", "b_2")}
    for head, n in (("mask_lm", VOCAB), ("next_sentence", 2)):
        shapes |= {f"{head}.linear.weight": (n, D_MODEL), f"{head}.linear.bias": (n,)}
    weights = {name: 0.2 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    weights["bert.embedding.segment.weight"][0] = 0  # padding's
    return weights | {"bert.embedding.position.pe": sinusoids()}


def linear(x: Tensor, weights: Weights, name: str) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normed(x: Tensor, weights: Weights, name: str) -> Tensor:
    scaled = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
    return weights[f"{name}.a_2"] * scaled + weights[f"{name}.b_2"]


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def forward(ids: Tensor, weights: Weights) -> tuple[Tensor, list[Tensor]]:
    """Hidden states (B, T, D), and each layer's attention (B, H, T, T), of sentences A."""
    words = weights["bert.embedding.token.weight"][ids]
    x = words + sinusoids()[:, : ids.shape[1]] + weights["bert.embedding.segment.weight"][1]
    attentions = []
    for block in (f"bert.transformer_blocks.{i}" for i in range(LAYERS)):
        y = normed(x, weights, f"{block}.input_sublayer.norm")
        projected = [linear(y, weights, f"{block}.attention.linear_layers.{i}") for i in range(3)]
        q, k, v = (part.unflatten(-1, (HEADS, -1)).movedim(2, 1) for part in projected)
        scores = q @ k.transpose(-2, -1) / math.sqrt(D_MODEL // HEADS)
        scores = scores.masked_fill((ids == 0)[:, None, None], -1e9)
        attentions.append(scores.softmax(-1))
        z = (attentions[-1] @ v).movedim(1, 2).flatten(2)
        x = x + linear(z, weights, f"{block}.attention.output_linear")
        y = normed(x, weights, f"{block}.output_sublayer.norm")
        y = gelu(linear(y, weights, f"{block}.feed_forward.w_1"))
        x = x + linear(y, weights, f"{block}.feed_forward.w_2")
    return x, attentions


@pytest.mark.parametrize("with_heads", [True, False])
def test_parity(tmp_path: Path, with_heads: bool) -> None:
    weights = weights_of()
    saved = weights
    if not with_heads:
        prefix = "bert."
        saved = {name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)}
    ours, report = imported(raw_of(tmp_path, saved), {"n_heads": HEADS})
    assert report.family == "codertimo"
    assert [question.name for question in report.questions] == ["n_heads"]
    assert (ours.config.has_generator, ours.config.positions) == (with_heads, "sinusoidal")
    ids = padded(random_ids(VOCAB, 2, 11, first=1), 0, 7)
    (hidden, attentions), trace, words = forward(ids, weights), trace_of(ours, ids, None), ids != 0
    for i, expected in enumerate(attentions):
        ours_in_layer = trace.attention("encoder", i, "self_attn").weights
        for row, looking in enumerate(words):
            assert close(ours_in_layer[row][:, looking], expected[row][:, looking])
    assert close(trace[f"encoder.layers.{LAYERS - 1}.resid_post"][words], hidden[words])
    if with_heads:
        assert close(trace["logits"][words], linear(hidden, weights, "mask_lm.linear")[words])
