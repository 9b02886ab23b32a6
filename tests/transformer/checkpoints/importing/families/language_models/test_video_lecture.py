"""The GPT of Karpathy's lecture: a module written from what it computes, and what becomes of its weights."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

VOCAB, D_MODEL, HEADS, LAYERS, LENGTH = 43, 20, 5, 3, 13
D_HEAD = D_MODEL // HEADS


class Head(nn.Module):
    tril: Tensor

    def __init__(self, divided_by: int) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(D_MODEL, D_HEAD, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.ones(LENGTH, LENGTH).tril())
        self.divided_by = divided_by
        self.weights = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(self.divided_by)
        self.weights = scores.masked_fill(self.tril[:n, :n] == 0, -math.inf).softmax(-1)
        return self.weights @ self.value(x)


class Heads(nn.Module):
    def __init__(self, divided_by: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head(divided_by) for _ in range(HEADS))
        self.proj = nn.Linear(D_MODEL, D_MODEL)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.ReLU(), nn.Linear(4 * D_MODEL, D_MODEL), nn.Dropout()
        )


class Block(nn.Module):
    def __init__(self, divided_by: int) -> None:
        super().__init__()
        self.sa, self.ffwd = Heads(divided_by), FeedForward()
        self.ln1, self.ln2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln1(x)
        x = x + self.sa.proj(torch.cat([head(y) for head in self.sa.heads], -1))
        return x + self.ffwd.net(self.ln2(x))


class LanguageModel(nn.Module):
    def __init__(self, divided_by: int = D_HEAD) -> None:
        super().__init__()
        self.token_embedding_table = nn.Embedding(VOCAB, D_MODEL)
        self.position_embedding_table = nn.Embedding(LENGTH, D_MODEL)
        self.blocks = nn.Sequential(*(Block(divided_by) for _ in range(LAYERS)))
        self.ln_f, self.lm_head = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embedding_table(ids) + self.position_embedding_table.weight[: ids.shape[1]]
        return self.lm_head(self.ln_f(self.blocks(x)))

    def weights(self, layer: int) -> Tensor:
        """(B, H, Q, K)"""
        block = self.blocks[layer]
        assert isinstance(block, Block)
        return torch.stack([head.weights for head in block.sa.heads if isinstance(head, Head)], dim=1)


@pytest.mark.parametrize("answer, divided_by", [("head", D_HEAD), ("model", D_MODEL)])
def test_parity(tmp_path: Path, answer: str, divided_by: int) -> None:
    theirs = LanguageModel(divided_by)
    randomized(theirs)
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), {"scores_divided_by": answer})
    assert report.family == "video_lecture"
    ids = random_ids(VOCAB, 2, 11, first=0)
    with torch.no_grad():
        expected = theirs(ids)
    trace = trace_of(ours, None, ids)
    assert close(trace["logits"], expected)
    for i in range(LAYERS):
        assert close(trace.attention("decoder", i, "self_attn").weights, theirs.weights(i))


def test_what_is_asked(tmp_path: Path) -> None:
    _, report = imported(raw_of(tmp_path, LanguageModel().state_dict()))
    asked = {question.name: question.value for question in report.questions}
    assert asked == {"scores_divided_by": "head", "activation": "relu"}
    assert {unused.name for unused in report.keys.unused} == {
        f"blocks.{i}.sa.heads.{j}.tril" for i in range(LAYERS) for j in range(HEADS)
    }


def test_a_missing_head_is_told_by_the_shape(tmp_path: Path) -> None:
    weights = LanguageModel().state_dict()
    del weights["blocks.1.sa.heads.2.key.weight"]
    (misshaped,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert misshaped.name == "blocks.1.sa.heads.0.key.weight"
    assert "of 4 parts" in misshaped.detail


def test_missing_matrices_of_all_heads_are_told_by_the_first(tmp_path: Path) -> None:
    weights = {
        name: weight
        for name, weight in LanguageModel().state_dict().items()
        if not (name.startswith("blocks.1") and name.endswith("query.weight"))
    }
    (missing,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.missing
    assert missing.name == "blocks.1.sa.heads.0.query.weight"


def test_heads_of_unequal_widths_are_told(tmp_path: Path) -> None:
    weights = LanguageModel().state_dict()
    weights["blocks.0.sa.heads.3.value.weight"] = torch.zeros(D_HEAD, D_MODEL + 1)
    (misshaped,) = plan_import(raw_of(tmp_path, weights), {}).report.keys.misshaped
    assert misshaped.name == "blocks.0.sa.heads.0.value.weight"


def test_ten_heads_and_more_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    theirs = LanguageModel()
    for block in theirs.blocks:
        assert isinstance(block, Block)
        block.sa.heads = nn.ModuleList(Head(2) for _ in range(10))
        for head in block.sa.heads:
            assert isinstance(head, Head)
            head.key, head.query, head.value = (nn.Linear(D_MODEL, 2, bias=False) for _ in range(3))
    randomized(theirs)
    # Sorted by their names, head 10 would stand before head 2.
    weights = dict(sorted(theirs.state_dict().items(), reverse=True))
    ours, _ = imported(raw_of(tmp_path, weights))
    ids = random_ids(VOCAB, 2, 11, first=0)
    with torch.no_grad():
        assert close(trace_of(ours, None, ids)["logits"], theirs(ids))


def test_the_bigram_model_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="bigram"):
        plan_import(raw_of(tmp_path, {"token_embedding_table.weight": torch.zeros(VOCAB, VOCAB)}), {})
