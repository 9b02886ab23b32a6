"""graykode/nlp-tutorial's Transformer and its copies: modules written as described compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import randomized, raw_of
from tests.transformer.checkpoints.importing.families.tutorials.parity import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEADS,
    SRC_VOCAB,
    TGT_VOCAB,
    S,
    attend,
    causal,
    compared,
    sinusoids,
)
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError

PAD = 0
NAMES = {"enc_self_attn": "self_attn", "dec_self_attn": "self_attn", "dec_enc_attn": "cross_attn"}


class Version(NamedTuple):
    """What differs between the repository's versions and its copies.

    Attributes:
        stores_norms: whether norms are parts of the module, not made at each call.
        stores_output: whether the layer after the heads is.
        is_copy: no biases, linear layers for convolutions, positions as a buffer.
        d_k: width of a head.
        rows: which ones of the table of positions a sentence gets, if it isn't a copy.
    """

    stores_norms: bool = True
    stores_output: bool = True
    is_copy: bool = False
    d_k: int = D_MODEL // HEADS
    rows: str = "of_example"


class Attention(nn.Module):
    weights: Tensor

    def __init__(self, version: Version) -> None:
        super().__init__()
        width, bias = version.d_k * HEADS, not version.is_copy
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D_MODEL, width, bias=bias) for _ in range(3))
        self.output = "fc" if version.is_copy else "linear"
        if version.stores_output:
            self.add_module(self.output, nn.Linear(width, D_MODEL, bias=bias))
        self.layer_norm = nn.LayerNorm(D_MODEL) if version.stores_norms else None

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        z, self.weights = attend(self.W_Q(x), self.W_K(memory), self.W_V(memory), mask)
        return normalized(self.get_submodule(self.output)(z) + x, self.layer_norm)


def normalized(x: Tensor, norm: nn.Module | None) -> Tensor:
    return nn.LayerNorm(D_MODEL)(x) if norm is None else norm(x)


class FeedForward(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.is_copy = version.is_copy
        if version.is_copy:
            self.fc = nn.Sequential(
                nn.Linear(D_MODEL, D_FF, bias=False), nn.ReLU(), nn.Linear(D_FF, D_MODEL, bias=False)
            )
        else:
            self.conv1, self.conv2 = nn.Conv1d(D_MODEL, D_FF, 1), nn.Conv1d(D_FF, D_MODEL, 1)
        self.layer_norm = nn.LayerNorm(D_MODEL) if version.stores_norms else None

    def forward(self, x: Tensor) -> Tensor:
        if self.is_copy:
            return normalized(self.fc(x) + x, self.layer_norm)
        y = self.conv2(self.conv1(x.transpose(1, 2)).relu()).transpose(1, 2)
        return normalized(y + x, self.layer_norm)


class EncoderLayer(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.enc_self_attn, self.pos_ffn = Attention(version), FeedForward(version)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.pos_ffn(self.enc_self_attn(x, x, mask))


class DecoderLayer(nn.Module):
    def __init__(self, version: Version) -> None:
        super().__init__()
        self.dec_self_attn, self.dec_enc_attn = Attention(version), Attention(version)
        self.pos_ffn = FeedForward(version)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        x = self.dec_self_attn(x, x, mask)
        return self.pos_ffn(self.dec_enc_attn(x, memory, memory_mask))


class Positions(nn.Module):
    pe: Tensor

    def __init__(self, length: int) -> None:
        super().__init__()
        self.register_buffer("pe", sinusoids(length)[:, None])


class Stack(nn.Module):
    """The repository's table has one row more than the example's sentences have tokens."""

    def __init__(self, version: Version, emb: str, vocab_size: int, length: int) -> None:
        super().__init__()
        self.version, self.emb, self.length = version, emb, length
        self.add_module(emb, nn.Embedding(vocab_size, D_MODEL))
        if version.is_copy:
            self.pos_emb: nn.Module = Positions(length + 4)
        else:
            self.pos_emb = nn.Embedding.from_pretrained(sinusoids(length + 1))
        if emb == "src_emb":
            layers: list[nn.Module] = [EncoderLayer(version) for _ in range(ENCODER_LAYERS)]
        else:
            layers = [DecoderLayer(version) for _ in range(DECODER_LAYERS)]
        self.layers = nn.ModuleList(layers)

    def embed(self, ids: Tensor) -> Tensor:
        x, length = self.get_submodule(self.emb)(ids), self.length
        if isinstance(self.pos_emb, Positions):
            return x + self.pos_emb.pe[: ids.shape[1], 0]
        rows = {
            "from_0": [*range(length)],
            "from_1": [*range(1, length + 1)],
            "of_example": [*range(1, length), 0] if self.emb == "src_emb" else [length, *range(1, length)],
        }
        return x + self.pos_emb(torch.tensor(rows[self.version.rows][: ids.shape[1]]))


AS_PUBLISHED = Version()


class Theirs(nn.Module):
    def __init__(self, version: Version = AS_PUBLISHED) -> None:
        super().__init__()
        self.encoder = Stack(version, "src_emb", SRC_VOCAB, S)
        self.decoder = Stack(version, "tgt_emb", TGT_VOCAB, S + 1)
        self.projection = nn.Linear(D_MODEL, TGT_VOCAB, bias=False)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory_mask = (src != PAD)[:, None, None]
        memory = self.encoder.embed(src)
        for layer in self.encoder.layers:
            memory = layer(memory, memory_mask)
        x = self.decoder.embed(tgt)
        for layer in self.decoder.layers:
            x = layer(x, (tgt != PAD)[:, None, None] & causal(), memory, memory_mask)
        return self.projection(x).view(-1, TGT_VOCAB)


@pytest.mark.parametrize("rows", ["of_example", "from_0", "from_1"])
@pytest.mark.parametrize("stores_norms", [True, False])
def test_parity(tmp_path: Path, stores_norms: bool, rows: str) -> None:
    theirs = randomized(Theirs(Version(stores_norms=stores_norms, rows=rows)))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD, rows_of_pos_emb=rows)
    assert found.report.family == "graykode"
    assert found.asked == ["n_heads", "rows_of_pos_emb", "pad_id"]
    assert found.model.config.positions == "learned"
    assert any("never trains them" in note for note in found.report.notes) != stores_norms


@pytest.mark.parametrize("stores_norms", [True, False])
def test_copies(tmp_path: Path, stores_norms: bool) -> None:
    theirs = randomized(Theirs(Version(stores_norms=stores_norms, is_copy=True, d_k=11)))
    found = compared(tmp_path, theirs, NAMES, pad_id=PAD)
    assert found.asked == ["n_heads", "pad_id"]
    config = found.model.config
    assert (config.bias, config.d_head, config.positions) == (False, 11, "sinusoidal")


def test_a_layer_that_was_never_stored_is_drawn(tmp_path: Path) -> None:
    version = Version(stores_norms=False, stores_output=False)
    planned = plan_import(raw_of(tmp_path, Theirs(version).state_dict()), {"n_heads": HEADS})
    assert planned.report.keys.fits
    assert planned.weights.stand_ins["encoder.layers.0.self_attn.w_o.weight"] == "drawn"
    assert any("drawn at random" in note for note in planned.report.notes)


def test_the_tables_of_the_example_are_known_by_their_rows(tmp_path: Path) -> None:
    weights = Theirs().state_dict()
    for side in ("encoder", "decoder"):
        weights[f"{side}.pos_emb.weight"] = sinusoids(6)
    report = plan_import(raw_of(tmp_path, weights), {}).report
    assert [question.value for question in report.questions] == [report.config.n_heads, "of_example", PAD]
    assert report.config.max_len == 5


def test_positions_by_the_word_are_refused(tmp_path: Path) -> None:
    weights = Theirs().state_dict()
    weights |= {
        "encoder.pos_emb.weight": sinusoids(SRC_VOCAB),
        "decoder.pos_emb.weight": sinusoids(TGT_VOCAB),
    }
    report = plan_import(raw_of(tmp_path, weights), {}).report
    (question,) = [question for question in report.questions if question.name == "rows_of_pos_emb"]
    assert "one row per word" in question.why
    assert question.value == "from_0"
    with pytest.raises(CheckpointError, match="looked up by the word"):
        plan_import(raw_of(tmp_path, weights), {"rows_of_pos_emb": "word"})
