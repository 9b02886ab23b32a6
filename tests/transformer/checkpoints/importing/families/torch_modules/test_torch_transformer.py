"""State dicts of torch.nn.Transformer, bare and in custom modules, compute the same numbers here."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.torch_attention import torch_attention
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

D_MODEL, HEADS, D_FF = 22, 2, 37
SRC_VOCAB, TGT_VOCAB, MAX_LEN, PAD = 29, 31, 19, 1
S, T = 7, 5


class Positions(nn.Module):
    """The sinusoids of section 3.5 as a buffer (length, 1, D), as in torch's translation tutorial."""

    pos_embedding: Tensor

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        rate = torch.exp(-torch.arange(0, d_model, 2) * math.log(10_000) / d_model)
        angle = torch.arange(0, max_len).reshape(max_len, 1) * rate
        table = torch.zeros(max_len, d_model)
        table[:, 0::2], table[:, 1::2] = torch.sin(angle), torch.cos(angle)
        self.register_buffer("pos_embedding", table.unsqueeze(-2))

    def forward(self, embedded: Tensor) -> Tensor:
        return embedded + self.pos_embedding[: embedded.size(0)]


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.scale = math.sqrt(d_model)

    def forward(self, ids: Tensor) -> Tensor:
        return self.embedding(ids) * self.scale


class Seq2Seq(nn.Module):
    """A translator like torch's tutorial: ids (T, B) in, logits (T, B, V) out."""

    def __init__(self, hides_memory: bool = True, **options: Any) -> None:
        super().__init__()
        self.hides_memory = hides_memory
        self.transformer = nn.Transformer(
            D_MODEL, HEADS, num_encoder_layers=2, num_decoder_layers=3, dim_feedforward=D_FF, **options
        )
        self.generator = nn.Linear(D_MODEL, TGT_VOCAB)
        self.src_tok_emb = TokenEmbedding(SRC_VOCAB, D_MODEL)
        self.tgt_tok_emb = TokenEmbedding(TGT_VOCAB, D_MODEL)
        self.positional_encoding = Positions(D_MODEL, MAX_LEN)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        later = torch.ones(len(tgt), len(tgt), dtype=torch.bool).triu(1)
        z = self.transformer(
            self.positional_encoding(self.src_tok_emb(src)),
            self.positional_encoding(self.tgt_tok_emb(tgt)),
            tgt_mask=later,
            src_key_padding_mask=(src == PAD).T,
            tgt_key_padding_mask=(tgt == PAD).T,
            memory_key_padding_mask=(src == PAD).T if self.hides_memory else None,
        )
        return self.generator(z)


def batch() -> tuple[Tensor, Tensor]:
    src, tgt = random_ids(SRC_VOCAB, 2, S), random_ids(TGT_VOCAB, 2, T, seed=1)
    return padded(src, PAD, 4), padded(tgt, PAD, 3)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation, hides_memory", [("relu", True), ("gelu", True), ("relu", False)])
def test_parity_of_a_translator(
    tmp_path: Path, norm_first: bool, activation: str, hides_memory: bool
) -> None:
    theirs = randomized(Seq2Seq(hides_memory, norm_first=norm_first, activation=activation))
    answers = {
        "n_heads": HEADS,
        "norm_position": "pre" if norm_first else "post",
        "activation": activation,
        "pad_id": PAD,
        "memory_padding_mask": hides_memory,
    }
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), answers)
    assert ours.config.positions == "sinusoidal"
    assert ours.config.max_len == MAX_LEN
    assert {question.name for question in report.questions} >= answers.keys()
    src, tgt = batch()
    with torch.no_grad(), torch_attention(theirs) as seen:
        logits = theirs(src.T, tgt.T).transpose(0, 1)
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"], logits)
    for i in range(2):
        path = f"transformer.encoder.layers.{i}"
        assert close(trace.attention("encoder", i, "self_attn").weights, seen[f"{path}.self_attn"])
        assert close(trace[f"encoder.layers.{i}.resid_post"], seen[path].transpose(0, 1))
    for i in range(3):
        path = f"transformer.decoder.layers.{i}"
        assert close(trace.attention("decoder", i, "self_attn").weights, seen[f"{path}.self_attn"])
        assert close(trace.attention("decoder", i, "cross_attn").weights, seen[f"{path}.multihead_attn"])
        assert close(trace[f"decoder.layers.{i}.resid_post"], seen[path].transpose(0, 1))


def test_unanswered_questions_take_their_likely_value_and_say_so(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, Seq2Seq().state_dict()), {}).report
    taken = {question.name: (question.value, question.answered) for question in report.questions}
    assert taken["norm_position"] == ("post", False)
    assert taken["n_heads"] == (2, False)  # 22 is divisible by neither 4 nor 8
    sources = {setting.name: setting.source for setting in report.settings}
    assert (sources["n_heads"], sources["d_model"]) == ("assumed", "shapes")


def test_whether_the_decoder_sees_padding_changes_its_attention(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, randomized(Seq2Seq(), 3).state_dict())
    src, tgt = batch()
    seen = [
        trace_of(imported(raw, {"pad_id": PAD, "memory_padding_mask": hides})[0], src, tgt)
        .attention("decoder", 2, "cross_attn")
        .weights
        for hides in (True, False)
    ]
    assert bool((seen[0][-1, :, :, 4:] == 0).all())
    assert bool((seen[1][-1, :, :, 4:] > 0).all())
    assert torch.equal(seen[0][0], seen[1][0]), "a sentence without padding sees the same"


def test_embeddings_that_a_module_wraps_are_scaled(tmp_path: Path) -> None:
    theirs = Seq2Seq()
    nn.init.normal_(theirs.positional_encoding.pos_embedding)  # trained positions, not sinusoids
    report = plan_import(raw_of(tmp_path, theirs.state_dict()), {}).report
    assert (report.config.positions, report.config.embedding_scale) == ("learned", True)


@pytest.mark.parametrize("d_model,likely", [(44, 4), (128, 8), (512, 8), (768, 12), (1024, 16)])
def test_likely_heads_are_eight_or_of_usual_width(tmp_path: Path, d_model: int, likely: int) -> None:
    layer = nn.TransformerEncoderLayer(d_model, 1, 3)
    report = plan_import(raw_of(tmp_path, nn.TransformerEncoder(layer, 1).state_dict()), {}).report
    assert report.config.n_heads == likely
