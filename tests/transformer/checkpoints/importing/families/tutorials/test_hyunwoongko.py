"""hyunwoongko/transformer: a module written as it is described computes the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    attend,
    causal,
    compared,
    sinusoids,
    unbiased_norm,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

PAD = 1
NAMES = {"self_attention": "self_attn", "enc_dec_attention": "cross_attn", ".attention": ".self_attn"}


class Norm(nn.Module):
    def __init__(self, unbiased: bool) -> None:
        super().__init__()
        self.unbiased = unbiased
        self.gamma, self.beta = nn.Parameter(torch.ones(D_MODEL)), nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        if self.unbiased:
            return unbiased_norm(x, self.gamma, self.beta, 1e-12)
        variance = x.var(-1, unbiased=False, keepdim=True)
        return self.gamma * (x - x.mean(-1, keepdim=True)) / (variance + 1e-12).sqrt() + self.beta


class Attention(nn.Module):
    weights: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_concat = (nn.Linear(D_MODEL, D_MODEL) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        z, self.weights = attend(self.w_q(x), self.w_k(memory), self.w_v(memory), mask)
        return self.w_concat(z)


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(D_MODEL, D_FF), nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.linear1(x).relu())


class EncoderLayer(nn.Module):
    def __init__(self, unbiased: bool) -> None:
        super().__init__()
        self.attention, self.ffn = Attention(), FeedForward()
        self.norm1, self.norm2 = Norm(unbiased), Norm(unbiased)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x, x, mask))
        return self.norm2(x + self.ffn(x))


class DecoderLayer(nn.Module):
    def __init__(self, unbiased: bool) -> None:
        super().__init__()
        self.self_attention, self.enc_dec_attention, self.ffn = Attention(), Attention(), FeedForward()
        self.norm1, self.norm2, self.norm3 = Norm(unbiased), Norm(unbiased), Norm(unbiased)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.norm1(x + self.self_attention(x, x, mask))
        x = self.norm2(x + self.enc_dec_attention(x, memory, memory_mask))
        return self.norm3(x + self.ffn(x))


class Positions(nn.Module):
    encoding: Tensor

    def __init__(self, stored: bool) -> None:
        super().__init__()
        self.register_buffer("encoding", sinusoids(), persistent=stored)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, stored: bool) -> None:
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(vocab_size, D_MODEL), Positions(stored)

    def forward(self, ids: Tensor) -> Tensor:
        return self.tok_emb(ids) + self.pos_emb.encoding[: ids.shape[1]]


class Encoder(nn.Module):
    def __init__(self, unbiased: bool, stored: bool) -> None:
        super().__init__()
        self.emb = Embedding(SRC_VOCAB, stored)
        self.layers = nn.ModuleList(EncoderLayer(unbiased) for _ in range(ENCODER_LAYERS))


class Decoder(nn.Module):
    def __init__(self, unbiased: bool, stored: bool) -> None:
        super().__init__()
        self.emb = Embedding(TGT_VOCAB, stored)
        self.layers = nn.ModuleList(DecoderLayer(unbiased) for _ in range(DECODER_LAYERS))
        self.linear = nn.Linear(D_MODEL, TGT_VOCAB)


class Theirs(nn.Module):
    def __init__(self, *, unbiased: bool = False, stored: bool = False) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(unbiased, stored), Decoder(unbiased, stored)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        is_word = (src != PAD)[:, None]
        memory = self.encoder.emb(src)
        for layer in self.encoder.layers:
            memory = layer(memory, (is_word & is_word.mT)[:, None])
        x, is_target = self.decoder.emb(tgt), (tgt != PAD)[:, None]
        for layer in self.decoder.layers:
            x = layer(
                x,
                (is_target & is_target.mT)[:, None] & causal(),
                memory,
                (is_word & is_target.mT)[:, None],
            )
        return self.decoder.linear(x)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("norm", ["layer", "layer_unbiased"])
def test_parity(tmp_path: Path, norm: str, stored: bool) -> None:
    theirs = randomized(Theirs(unbiased=norm == "layer_unbiased", stored=stored))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, norm=norm)
    assert found.report.family == "hyunwoongko"
    assert found.asked == ["n_heads", "split_heads", "norm", "pad_id"]
    assert found.model.config.positions == "sinusoidal"
    assert found.model.config.max_len == (MAX_LEN if stored else 1024)


def test_the_current_version_is_assumed(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, Theirs().state_dict()), {}).report
    assert {question.name: question.value for question in report.questions} == {
        "n_heads": report.config.n_heads,
        "split_heads": "transposed",
        "norm": "layer",
        "pad_id": PAD,
    }


def test_heads_that_are_cut_across_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="without transposing"):
        plan_import(raw_of(tmp_path, Theirs().state_dict()), {"split_heads": "untransposed"})


def test_versions_without_a_layer_after_the_heads_are_refused(tmp_path: Path) -> None:
    weights = {name: weight for name, weight in Theirs().state_dict().items() if "w_concat" not in name}
    with pytest.raises(CheckpointError, match="without transposing"):
        plan_import(raw_of(tmp_path, weights), {})
