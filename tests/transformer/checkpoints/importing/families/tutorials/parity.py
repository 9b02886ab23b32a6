"""Sizes, sublayers and the comparison for modules that are written as the tutorials describe theirs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from tests.transformer.checkpoints.importing.families.foreign import imported, padded, random_ids, raw_of
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.report import ImportReport
from transformer.model.transformer import Transformer

D_MODEL, HEADS, D_FF = 42, 3, 37
SRC_VOCAB, TGT_VOCAB, MAX_LEN = 29, 31, 19
ENCODER_LAYERS, DECODER_LAYERS = 2, 3
S, T = 7, 5


class Compared(NamedTuple):
    """Our model, what was said about it, and how far it is off as a share of the largest value."""

    model: Transformer
    report: ImportReport
    logits: float
    attention: float

    @property
    def asked(self) -> list[str]:
        return [question.name for question in self.report.questions]


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, heads: int = HEADS, scale: float = 0.0
) -> tuple[Tensor, Tensor]:
    """What heads look up, side by side (B, Q, H * d_head), and their weights (B, H, Q, K)."""
    q, k, v = (x.view(len(x), x.shape[1], heads, -1).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) * (scale or 1 / math.sqrt(q.shape[-1]))
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(len(q), q.shape[2], -1), weights


def unbiased_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Divided by the deviation with D - 1, to which eps is added."""
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


def sinusoids(length: int = MAX_LEN, d_model: int = D_MODEL) -> Tensor:
    """(length, D), as in the paper."""
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


def causal(length: int = T) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def compared(
    folder: Path,
    theirs: nn.Module,
    names: Mapping[str, str],
    *,
    pad_id: int,
    asks_heads: bool = True,
    **answers: Any,
) -> Compared:
    """Compare a module with ours on a padded batch: logits and every attention matrix, at all real tokens.

    Args:
        folder: for its file.
        theirs: takes src and tgt and gives logits, or log-probabilities; each attention keeps its `weights`.
        names: parts of the attentions' names -> ours.
        pad_id: of both sides.
        asks_heads: whether the files don't tell how many there are.
        answers: to further questions.
    """
    known = {"pad_id": pad_id} | ({"n_heads": HEADS} if asks_heads else {})
    model, report = imported(raw_of(folder, theirs.state_dict()), known | answers)
    src = padded(random_ids(SRC_VOCAB, 2, S), pad_id, 4)
    tgt = padded(random_ids(TGT_VOCAB, 2, T, seed=1), pad_id, 3)
    with torch.no_grad():
        expected = theirs(src, tgt).view(2, T, -1).log_softmax(-1)
    trace = trace_of(model, src, tgt)
    is_word = {"encoder": src != pad_id, "decoder": tgt != pad_id}
    logits = _off(trace["logits"].log_softmax(-1)[tgt != pad_id], expected[tgt != pad_id])
    attentions = {path: module for path, module in theirs.named_modules() if hasattr(module, "weights")}
    assert len(attentions) == model.config.n_encoder_layers + 2 * model.config.n_decoder_layers
    attention = []
    for their_path, module in attentions.items():
        path = reduce(lambda path, name: path.replace(*name), names.items(), their_path)
        rows = is_word[path.partition(".")[0]]
        weights = trace[f"{path}.weights"].transpose(1, 2)[rows]
        attention.append(_off(weights, module.weights.transpose(1, 2)[rows]))
    assert logits < 1e-5
    assert max(attention) < 1e-5
    return Compared(model, report, logits, max(attention))


def _off(actual: Tensor, expected: Tensor) -> float:
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    FIGURES.note_error(actual, expected)
    return (actual - expected).abs().max().item() / expected.abs().max().item()
