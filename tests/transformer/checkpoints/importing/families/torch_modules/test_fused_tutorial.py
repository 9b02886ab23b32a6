"""The tutorial layout with fused projections: a module written from its description computes the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

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

D_MODEL, HEADS, D_FF = 22, 11, 37
SRC_VOCAB, TGT_VOCAB, PAD = 29, 31, 1
S, T = 7, 5


class Norm(nn.Module):
    eps = 1e-5

    def __init__(self) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(D_MODEL))
        self.beta = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        deviation = (x.var(-1, keepdim=True, correction=0) + self.eps).sqrt()
        return self.gamma * ((x - x.mean(-1, keepdim=True)) / deviation) + self.beta


class Attention(nn.Module):
    """Scores, softmax and the merge that both attentions share; keeps its weights for the test."""

    weights: Tensor

    def __init__(self, transposes_back: bool) -> None:
        super().__init__()
        self.linear_layer = nn.Linear(D_MODEL, D_MODEL)
        self.transposes_back = transposes_back

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """q, k, v (B, T, H, d_head); mask (B, 1, Q, K), 0 or a large negative number."""
        q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
        self.weights = ((q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask).softmax(-1)
        values = self.weights @ v
        if self.transposes_back:
            values = values.permute(0, 2, 1, 3)
        return self.linear_layer(values.reshape(len(q), q.shape[2], D_MODEL))


class SelfAttention(Attention):
    def __init__(self, transposes_back: bool) -> None:
        super().__init__(transposes_back)
        self.qkv_layer = nn.Linear(D_MODEL, 3 * D_MODEL)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.qkv_layer(x).reshape(*x.shape[:2], HEADS, -1).chunk(3, dim=-1)
        return self.attend(q, k, v, mask)


class CrossAttention(Attention):
    def __init__(self, transposes_back: bool) -> None:
        super().__init__(transposes_back)
        self.kv_layer = nn.Linear(D_MODEL, 2 * D_MODEL)
        self.q_layer = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, memory: Tensor, x: Tensor, mask: Tensor) -> Tensor:
        k, v = self.kv_layer(memory).reshape(*memory.shape[:2], HEADS, -1).chunk(2, dim=-1)
        return self.attend(self.q_layer(x).reshape(*x.shape[:2], HEADS, -1), k, v, mask)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.linear1(x).relu())


class Layer(nn.Module):
    norm_first = False

    def around(self, x: Tensor, norm: nn.Module, compute: Callable[[Tensor], Tensor]) -> Tensor:
        """A sublayer with its norm and the way around both."""
        return x + compute(norm(x)) if self.norm_first else norm(x + compute(x))


class EncoderLayer(Layer):
    def __init__(self, transposes_back: bool) -> None:
        super().__init__()
        self.attention, self.ffn = SelfAttention(transposes_back), FeedForward()
        self.norm1, self.norm2 = Norm(), Norm()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.around(x, self.norm1, lambda y: self.attention(y, mask))
        return self.around(x, self.norm2, self.ffn)


class DecoderLayer(Layer):
    def __init__(self, transposes_back: bool) -> None:
        super().__init__()
        self.self_attention = SelfAttention(transposes_back)
        self.encoder_decoder_attention = CrossAttention(transposes_back)
        self.ffn = FeedForward()
        self.layer_norm1, self.layer_norm2, self.layer_norm3 = Norm(), Norm(), Norm()

    def forward(self, memory: Tensor, x: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.around(x, self.layer_norm1, lambda y: self.self_attention(y, mask))
        cross_attention = self.encoder_decoder_attention
        x = self.around(x, self.layer_norm2, lambda y: cross_attention(memory, y, memory_mask))
        return self.around(x, self.layer_norm3, self.ffn)


class SentenceEmbedding(nn.Module):
    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, D_MODEL)

    def forward(self, ids: Tensor) -> Tensor:
        even = torch.arange(0, D_MODEL, 2).float()
        angle = torch.arange(ids.shape[1]).reshape(-1, 1) / torch.pow(10000, even / D_MODEL)
        table = torch.stack((angle.sin(), angle.cos()), dim=2).flatten(1, 2)
        return self.embedding(ids) + table


class Stack(nn.Module):
    def __init__(self, vocab_size: int, layers: list[nn.Module]) -> None:
        super().__init__()
        self.sentence_embedding = SentenceEmbedding(vocab_size)
        self.layers = nn.ModuleList(layers)


class Translator(nn.Module):
    def __init__(self, transposes_back: bool) -> None:
        super().__init__()
        self.encoder = Stack(SRC_VOCAB, [EncoderLayer(transposes_back) for _ in range(2)])
        self.decoder = Stack(TGT_VOCAB, [DecoderLayer(transposes_back) for _ in range(3)])
        self.linear = nn.Linear(D_MODEL, TGT_VOCAB)

    def forward(self, src: Tensor, tgt: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Logits, and each layer's output by the path of ours."""
        closed = torch.finfo(torch.float32).min
        memory_mask = torch.zeros(len(src), 1, 1, src.shape[1]).masked_fill(
            (src == PAD)[:, None, None], closed
        )
        later = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
        mask = torch.zeros(len(tgt), 1, *later.shape).masked_fill(later | (tgt == PAD)[:, None, None], closed)
        states = {}
        x = self.encoder.sentence_embedding(src)
        for i, layer in enumerate(self.encoder.layers):
            x = states[f"encoder.layers.{i}.resid_post"] = layer(x, memory_mask)
        memory, x = x, self.decoder.sentence_embedding(tgt)
        for i, layer in enumerate(self.decoder.layers):
            x = states[f"decoder.layers.{i}.resid_post"] = layer(memory, x, mask, memory_mask)
        return self.linear(x), states


@pytest.mark.parametrize("transposes_back", [True, False])
def test_parity(tmp_path: Path, transposes_back: bool) -> None:
    theirs = randomized(Translator(transposes_back))
    merge = "transposed" if transposes_back else "untransposed"
    answers = {"n_heads": HEADS, "merge_heads": merge, "pad_id": PAD}
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert report.family == "fused_tutorial"
    src = padded(random_ids(SRC_VOCAB, 2, S), PAD, 4)
    tgt = padded(random_ids(TGT_VOCAB, 2, T, seed=1), PAD, 3)
    with torch.no_grad():
        logits, states = theirs(src, tgt)
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"], logits)
    for path, state in states.items():
        assert close(trace[path], state)
    assert isinstance(theirs, Translator)
    for i, layer in enumerate(theirs.encoder.layers):
        assert close(trace.attention("encoder", i, "self_attn").weights, _weights(layer.attention))
    for i, layer in enumerate(theirs.decoder.layers):
        assert close(trace.attention("decoder", i, "self_attn").weights, _weights(layer.self_attention))
        cross = _weights(layer.encoder_decoder_attention)
        assert close(trace.attention("decoder", i, "cross_attn").weights, cross)


def _weights(attention: object) -> Tensor:
    assert isinstance(attention, Attention)
    return attention.weights


def test_other_norms_than_the_tutorials_are_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Layer, "norm_first", True)
    monkeypatch.setattr(Norm, "eps", 0.1)
    theirs = randomized(Translator(transposes_back=True))
    raw = raw_of(tmp_path, theirs.state_dict())
    assumed = imported(raw)[0].config
    assert (assumed.norm_position, assumed.norm_eps) == ("post", 1e-5)
    ours, _ = imported(raw, {"n_heads": HEADS, "pad_id": PAD, "norm_position": "pre", "norm_eps": 0.1})
    src, tgt = random_ids(SRC_VOCAB, 2, S), random_ids(TGT_VOCAB, 2, T, seed=1)
    with torch.no_grad():
        assert close(trace_of(ours, src, tgt)["logits"], theirs(src, tgt)[0])


def test_the_merge_is_asked_for_and_a_merge_that_mixes_tokens_is_told(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, Translator(transposes_back=False).state_dict())
    _, report = imported(raw)
    merge = next(question for question in report.questions if question.name == "merge_heads")
    assert (merge.value, merge.answered) == ("transposed", False)
    _, report = imported(raw, {"merge_heads": "untransposed"})
    assert any("without transposing back" in note for note in report.notes)


def test_what_is_decoded_step_by_step_is_what_the_whole_target_gives(tmp_path: Path) -> None:
    """Nothing can be kept from step to step where a token gets pieces of later ones."""
    theirs = randomized(Translator(transposes_back=False))
    answers = {"n_heads": HEADS, "merge_heads": "untransposed", "pad_id": PAD}
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    src, tgt = random_ids(SRC_VOCAB, 2, S), random_ids(TGT_VOCAB, 4, T, seed=1)
    state = ours.start(padded(src, PAD, 4))
    twice = torch.tensor([0, 1])
    state.select(twice, torch.tensor([0, 0, 1, 1]))
    with torch.no_grad():
        for length in range(1, T + 1):
            logits = ours.step(tgt[:, length - 1 : length], state)
            whole, _ = theirs(padded(src, PAD, 4).repeat_interleave(2, dim=0), tgt[:, :length])
            assert close(logits[:, 0], whole[:, -1])
