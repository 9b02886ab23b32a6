"""Marian's own npz files, compared with a reimplementation of what Marian computes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from tests.transformer.checkpoints.importing.families.foreign import close, random_ids
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError

D_MODEL, HEADS, D_FF, V, S, T = 24, 3, 37, 29, 7, 5
DEPTHS = {"encoder": 2, "decoder": 3}
CONFIG = """\
type: transformer
dim-vocabs:
  - 29
  - 29
dim-emb: 24
transformer-heads: 3
transformer-ffn-activation: swish
transformer-postprocess: dan
transformer-preprocess: ""
transformer-decoder-autoreg: self-attention
transformer-tied-layers:
  []
transformer-no-projection: false
transformer-ffn-depth: 2
tied-embeddings-all: true
version: v1.11.0 f00d
"""
Weights = dict[str, Tensor]


class Marian:
    """Parameters under Marian's names, and what it computes with them; targets have no padding."""

    def __init__(
        self, *, pre: bool = False, tied: bool = True, learned: bool = False, target: int = V
    ) -> None:
        self.weights: Weights = {}
        self.attention: Weights = {}
        self.pre, self.learned, self.tied = pre, learned, tied
        self._generator = torch.Generator().manual_seed(0)
        if tied:
            self._draw("Wemb", V, D_MODEL)
        else:
            self._draw("encoder_Wemb", V, D_MODEL)
            self._draw("decoder_Wemb", target, D_MODEL)
            self._draw("decoder_ff_logit_out_W", D_MODEL, target)
        self._draw("decoder_ff_logit_out_b", 1, target)
        if learned:
            self._draw("Wpos", 19, D_MODEL)
        for stack, depth in DEPTHS.items():
            for n in range(1, depth + 1):
                for attention in ("self", "context")[: 1 + (stack == "decoder")]:
                    for m in "qkvo":
                        self._draw(f"{stack}_l{n}_{attention}_W{m}", D_MODEL, D_MODEL)
                        self._draw(f"{stack}_l{n}_{attention}_b{m}", 1, D_MODEL)
                    self._draw_norm(f"{stack}_l{n}_{attention}_Wo")
                self._draw(f"{stack}_l{n}_ffn_W1", D_MODEL, D_FF)
                self._draw(f"{stack}_l{n}_ffn_b1", 1, D_FF)
                self._draw(f"{stack}_l{n}_ffn_W2", D_FF, D_MODEL)
                self._draw(f"{stack}_l{n}_ffn_b2", 1, D_MODEL)
                self._draw_norm(f"{stack}_l{n}_ffn_ffn")
            if pre:
                self._draw(f"{stack}_top_ln_scale", 1, D_MODEL)
                self._draw(f"{stack}_top_ln_bias", 1, D_MODEL)

    def _draw(self, name: str, *shape: int) -> None:
        self.weights[name] = 0.4 * torch.randn(*shape, generator=self._generator)

    def _draw_norm(self, name: str) -> None:
        end = "_pre" if self.pre else ""
        self._draw(f"{name}_ln_scale{end}", 1, D_MODEL)
        self._draw(f"{name}_ln_bias{end}", 1, D_MODEL)

    def _norm(self, x: Tensor, name: str, end: str = "") -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        normed = centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        return normed * self.weights[f"{name}_ln_scale{end}"] + self.weights[f"{name}_ln_bias{end}"]

    def _affine(self, x: Tensor, prefix: str, mark: str) -> Tensor:
        return x @ self.weights[f"{prefix}_W{mark}"] + self.weights[f"{prefix}_b{mark}"]

    def _around(self, x: Tensor, name: str, compute: Any) -> Tensor:
        if self.pre:
            return x + compute(self._norm(x, name, "_pre"))
        return self._norm(x + compute(x), name)

    def _attend(self, prefix: str, x: Tensor, memory: Tensor, closed: Tensor) -> Tensor:
        q, k, v = (
            self._affine(y, prefix, m).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for m, y in (("q", x), ("k", memory), ("v", memory))
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(D_MODEL // HEADS)
        self.attention[prefix] = scores.masked_fill(closed, -99_999_999.0).softmax(-1)
        return self._affine((self.attention[prefix] @ v).transpose(1, 2).flatten(2), prefix, "o")

    def _feed_forward(self, prefix: str, x: Tensor) -> Tensor:
        hidden = self._affine(x, prefix, "1")
        return self._affine(hidden * hidden.sigmoid(), prefix, "2")

    def _placed(self, x: Tensor) -> Tensor:
        length, half = x.shape[1], D_MODEL // 2
        if self.learned:
            return x + self.weights["Wpos"][:length]
        frequency = torch.exp(torch.arange(half) * -(math.log(10_000) / (half - 1)))
        angle = torch.arange(length)[:, None] * frequency
        return math.sqrt(D_MODEL) * x + torch.cat((angle.sin(), angle.cos()), 1)

    def _words(self, stack: str) -> Tensor:
        return self.weights["Wemb" if self.tied else f"{stack}_Wemb"]

    def logits(self, src: Tensor, lengths: list[int], tgt: Tensor) -> Tensor:
        """Logits (B, T + 1, V) after each prefix of tgt (B, T), the empty one first."""
        closed = (torch.arange(src.shape[1]) >= torch.tensor(lengths)[:, None])[:, None, None]
        x = self._placed(self._words("encoder")[src])
        for n in range(1, DEPTHS["encoder"] + 1):
            at = f"encoder_l{n}_"
            x = self._around(x, f"{at}self_Wo", lambda y, at=at: self._attend(f"{at}self", y, y, closed))
            x = self._around(x, f"{at}ffn_ffn", lambda y, at=at: self._feed_forward(f"{at}ffn", y))
        memory = self._norm(x, "encoder_top") if self.pre else x
        shifted = torch.cat((torch.zeros(len(tgt), 1, D_MODEL), self._words("decoder")[tgt]), 1)
        later = torch.ones(shifted.shape[1], shifted.shape[1], dtype=torch.bool).triu(1)
        x = self._placed(shifted)
        for n in range(1, DEPTHS["decoder"] + 1):
            at = f"decoder_l{n}_"
            x = self._around(x, f"{at}self_Wo", lambda y, at=at: self._attend(f"{at}self", y, y, later))
            x = self._around(
                x, f"{at}context_Wo", lambda y, at=at: self._attend(f"{at}context", y, memory, closed)
            )
            x = self._around(x, f"{at}ffn_ffn", lambda y, at=at: self._feed_forward(f"{at}ffn", y))
        x = self._norm(x, "decoder_top") if self.pre else x
        matrix = self.weights["Wemb"].T if self.tied else self.weights["decoder_ff_logit_out_W"]
        return x @ matrix + self.weights["decoder_ff_logit_out_b"]

    def save(self, path: Path, config: str | None = CONFIG) -> Path:
        arrays: dict[str, Any] = {name: weight.numpy() for name, weight in self.weights.items()}
        if config is not None:
            arrays["special:model.yml"] = np.frombuffer(config.encode() + b"\0", dtype=np.int8)
        np.savez(path, **arrays)
        return path


def opened_from(path: Path) -> Imported:
    opened = open_checkpoint(path)
    FIGURES.note_import(opened.report)
    return opened


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("pre", [False, True])
def test_parity(tmp_path: Path, pre: bool, tied: bool, learned: bool) -> None:
    theirs = Marian(pre=pre, tied=tied, learned=learned)
    opened = opened_from(theirs.save(tmp_path / "model.npz"))
    assert opened.loaded is not None, opened.report.keys
    assert (opened.report.family, opened.report.questions) == ("marian_npz", ())
    assert not opened.report.keys.unexpected
    src, lengths = random_ids(V, 2, S, first=0), [S, 4]
    tgt = random_ids(V, 2, T - 1, first=0, seed=1)
    expected = theirs.logits(src, lengths, tgt)
    zeros = opened.report.config.pad_id
    assert zeros == V
    padded = src.clone()
    padded[1, 4:] = zeros
    ours_tgt = torch.cat((torch.full((2, 1), zeros), tgt), 1)
    trace = trace_of(opened.loaded.model, padded, ours_tgt)
    for i in range(DEPTHS["encoder"]):
        weights, marians = trace[f"encoder.layers.{i}.self_attn.weights"], theirs.attention
        assert close(weights[0], marians[f"encoder_l{i + 1}_self"][0])
        assert close(weights[1, :, :4], marians[f"encoder_l{i + 1}_self"][1, :, :4])
    for i in range(DEPTHS["decoder"]):
        for ours, name in (("self_attn", "self"), ("cross_attn", "context")):
            weights = trace[f"decoder.layers.{i}.{ours}.weights"]
            assert close(weights, theirs.attention[f"decoder_l{i + 1}_{name}"])
    assert close(trace["logits"][..., :V], expected)
    assert (trace["logits"].softmax(-1)[..., V] < 1e-6).all()


def test_vocabularies_of_two_sizes(tmp_path: Path) -> None:
    theirs = Marian(tied=False, target=31)
    opened = opened_from(theirs.save(tmp_path / "model.npz"))
    assert opened.loaded is not None
    config = opened.report.config
    assert (config.src_vocab_size, config.tgt_vocab_size, config.pad_id) == (V + 1, 32, -1)
    src, tgt = random_ids(V, 2, S, first=0), random_ids(31, 2, T - 1, first=0, seed=1)
    expected = theirs.logits(src, [S, S], tgt)
    with torch.no_grad():
        logits = opened.loaded.model(src, torch.cat((torch.full((2, 1), 31), tgt), 1))
    assert close(logits[..., :31], expected)


def test_without_its_configuration_heads_and_activation_are_asked(tmp_path: Path) -> None:
    report = opened_from(Marian().save(tmp_path / "model.npz", None)).report
    assert {question.name for question in report.questions} == {"n_heads", "activation"}


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("type: transformer", "type: s2s", "type 's2s'"),
        ("activation: swish", "activation: gelu", "activation 'gelu'"),
        ("autoreg: self-attention", "autoreg: average-attention", "without self-attention"),
        ("tied-layers:\n  []", "tied-layers:\n  - 1\n  - 1", "layers that are shared"),
        ("no-projection: false", "no-projection: true", "heads without a matrix"),
        ("heads: 3", "heads: many", "transformer-heads 'many'"),
    ],
)
def test_what_the_configuration_refuses(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CONFIG
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(Marian().save(tmp_path / "model.npz", CONFIG.replace(old, new)))


@pytest.mark.parametrize("name", ["decoder_l1_rnn_W", "decoder_l2_aan_W1", "encoder_l1_ffn_W3"])
def test_other_parts_are_refused_by_name(tmp_path: Path, name: str) -> None:
    theirs = Marian()
    theirs.weights[name] = torch.zeros(2, 3)
    with pytest.raises(CheckpointError, match=name):
        open_checkpoint(theirs.save(tmp_path / "model.npz"))


def test_the_configuration_is_an_extra(tmp_path: Path) -> None:
    raw = read_checkpoint(Marian().save(tmp_path / "model.npz"), LOCAL_LIMITS)
    assert raw.extras == {"special:model.yml": CONFIG}
