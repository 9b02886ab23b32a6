"""A plain Transformer to compare imported models with, which shares no code with Headlight's.

Its weights are a dictionary under Headlight's names, drawn at random. Their presence decides which parts the
model has (a bias, a gate, a final norm); `Program` sets the rest. `published` renames the weights to another
program's names.

Axes: B batch, Q query position, K key position, H head, D d_model, V vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.figures import FIGURES
from tests.transformer.checkpoints.importing.families.foreign import imported, padded, random_ids, raw_of
from tests.transformer.model.core import trace_of
from transformer.checkpoints.importing.report import ImportReport
from transformer.model.transformer import Transformer

D_MODEL, HEADS, D_FF = 42, 3, 37
SRC_VOCAB, TGT_VOCAB, MAX_LEN = 29, 31, 19
S, T = 7, 5

Weights = dict[str, Tensor]
Rules = Mapping[str, str | Callable[[re.Match[str]], str]]
"""Regular expressions -> their replacements, applied in turn to each of Headlight's names."""


@dataclass(frozen=True)
class Program:
    """What a program computes but doesn't save.

    Attributes:
        heads: number of query heads.
        norm_first: whether norms precede the sublayers.
        norm: "layer", "unbiased" (deviation with D - 1, eps added to it) or "rms".
        eps: epsilon of the norms.
        embedding_scale: factor of the embeddings.
        score_scale: factor of the scores; 0 for 1 / sqrt(d_head).
        logits_scale: factor of the logits.
        activation: the feed-forward's.
        rotary: "pairs" (neighbours) or "halves" for rotated queries and keys; empty for none.
        base: of the rotation.
        rotated: how many numbers of each head are rotated, the first ones; 0 for all.
        transposes_back: whether heads are transposed back before they are merged.
        pad_id: for both sides; -1 for none.
    """

    heads: int = HEADS
    norm_first: bool = False
    norm: str = "layer"
    eps: float = 1e-5
    embedding_scale: float = 1.0
    score_scale: float = 0.0
    logits_scale: float = 1.0
    activation: Callable[[Tensor], Tensor] = torch.relu
    rotary: str = ""
    base: float = 10_000.0
    rotated: int = 0
    transposes_back: bool = True
    pad_id: int = -1


class Reference:
    """Computes logits; stores attention weights and the outputs of layers by path in `seen`."""

    def __init__(self, weights: Weights, program: Program) -> None:
        self.weights, self.program = weights, program
        self.seen: dict[str, Tensor] = {}

    @torch.no_grad()
    def __call__(self, src: Tensor | None, tgt: Tensor | None) -> Tensor:
        """Logits (B, Q, V) of the decoder, or of a lone encoder; its last states if it has no generator."""
        x, memory_mask = torch.empty(0), torch.empty(0)
        if src is not None:
            memory_mask = (src != self.program.pad_id)[:, None, None]
            x = self._stack("encoder", self._embedded("src", src), memory_mask)
        if tgt is not None:
            length = tgt.shape[1]
            is_word = tgt != self.program.pad_id
            is_word[:, 0] = True  # some targets begin with the padding
            mask = is_word[:, None, None] & torch.ones(length, length).bool().tril()
            embedded = self._embedded("tgt", tgt)
            x = self._stack("decoder", embedded, mask, None if src is None else x, memory_mask)
        if "generator.weight" not in self.weights:
            return x
        return self._linear("generator", x) * self.program.logits_scale

    def _embedded(self, side: str, ids: Tensor) -> Tensor:
        x = self.weights[f"{side}_embedding.weight"][ids] * self.program.embedding_scale
        if f"{side}_positions" in self.weights:
            x = x + self.weights[f"{side}_positions"][: ids.shape[1]]
        return self._norm(f"{side}_embedding.norm", x)

    def _stack(
        self, stack: str, x: Tensor, mask: Tensor, memory: Tensor | None = None, memory_mask: Any = None
    ) -> Tensor:
        queries = re.compile(rf"{stack}\.layers\.\d+\.self_attn\.w_q\.weight")
        for i in range(sum(queries.fullmatch(name) is not None for name in self.weights)):
            at = f"{stack}.layers.{i}"
            x = self._around(f"{at}.self_attn", x, lambda name, y: self._attend(name, y, y, mask))
            if memory is not None:
                x = self._around(
                    f"{at}.cross_attn", x, lambda name, y: self._attend(name, y, memory, memory_mask)
                )
            x = self._around(f"{at}.feed_forward", x, self._feed_forward)
            self.seen[f"{at}.resid_post"] = x
        return self._norm(f"{stack}.final_norm", x)

    def _around(self, name: str, x: Tensor, compute: Callable[[str, Tensor], Tensor]) -> Tensor:
        if self.program.norm_first:
            return x + self._norm(f"{name}_post_norm", compute(name, self._norm(f"{name}_norm", x)))
        return self._norm(f"{name}_norm", x + compute(name, x))

    def _attend(self, name: str, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        heads = self.program.heads
        d_head = len(self.weights[f"{name}.w_q.weight"]) // heads
        q, k, v = (
            self._linear(f"{name}.w_{m}", y).unflatten(-1, (-1, d_head)).transpose(1, 2)
            for m, y in (("q", x), ("k", memory), ("v", memory))
        )
        q, k = self._norm(f"{name}.q_norm", q), self._norm(f"{name}.k_norm", k)
        if self.program.rotary:
            q, k = self._rotated(q), self._rotated(k)
        k, v = (part.repeat_interleave(heads // part.shape[1], dim=1) for part in (k, v))
        scores = q @ k.transpose(2, 3) * (self.program.score_scale or d_head**-0.5)
        self.seen[f"{name}.weights"] = weights = scores.masked_fill(~mask, -1e9).softmax(-1)
        z = weights @ v
        z = z.transpose(1, 2) if self.program.transposes_back else z
        return self._linear(f"{name}.w_o", z.reshape(*x.shape[:2], -1))

    def _rotated(self, x: Tensor) -> Tensor:
        """Multiply each pair of numbers, as a complex number, by e^(i angle)."""
        n, length = self.program.rotated or x.shape[-1], x.shape[2]
        x, unrotated = x[..., :n], x[..., n:]
        angle = torch.outer(torch.arange(length).float(), self.program.base ** (-torch.arange(0, n, 2) / n))
        by_halves = self.program.rotary == "halves"
        pairs = torch.stack(x.chunk(2, -1), -1) if by_halves else x.unflatten(-1, (-1, 2))
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.exp(1j * angle))
        rotated = torch.cat(turned.unbind(-1), -1) if by_halves else turned.flatten(-2)
        return torch.cat((rotated, unrotated), -1)

    def _feed_forward(self, name: str, x: Tensor) -> Tensor:
        hidden = self.program.activation(self._linear(f"{name}.w_1", x))
        if f"{name}.w_3.weight" in self.weights:
            hidden = hidden * self._linear(f"{name}.w_3", x)
        return self._linear(f"{name}.w_2", hidden)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        y = x @ self.weights[f"{name}.weight"].T
        return y + self.weights[f"{name}.bias"] if f"{name}.bias" in self.weights else y

    def _norm(self, name: str, x: Tensor) -> Tensor:
        """The norm of this name; x itself if there is none."""
        if f"{name}.gamma" not in self.weights:
            return x
        eps = self.program.eps
        if self.program.norm == "rms":
            return self.weights[f"{name}.gamma"] * x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        if self.program.norm == "unbiased":
            deviation = x.std(-1, keepdim=True) + eps
        else:
            deviation = (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
        normed = self.weights[f"{name}.gamma"] * (x - x.mean(-1, keepdim=True)) / deviation
        return normed + self.weights[f"{name}.beta"] if f"{name}.beta" in self.weights else normed


def drawn(
    *,
    d_model: int = D_MODEL,
    d_ff: int = D_FF,
    widths: tuple[int, int] | None = None,
    vocabularies: tuple[int, int] = (SRC_VOCAB, TGT_VOCAB),
    depths: tuple[int, int] = (2, 3),
    final_norm: bool = False,
    gated: bool = False,
    without: tuple[str, ...] = (),
    seed: int = 0,
) -> Weights:
    """Random weights of a Transformer.

    Args:
        d_model: width of the model.
        d_ff: width of the feed-forward.
        widths: rows of queries, and of keys and values; d_model by default.
        vocabularies: sizes for source and target.
        depths: of encoder and decoder; a stack of 0 layers has no embedding either.
        final_norm: whether the stacks end with a norm.
        gated: whether the feed-forward has a gate.
        without: patterns (as in a shell) of names to leave out.
        seed: of the random numbers.
    """
    q_rows, k_rows = widths or (d_model, d_model)
    shapes: dict[str, tuple[int, ...]] = {}
    for stack, depth, side, words in zip(
        ("encoder", "decoder"), depths, ("src", "tgt"), vocabularies, strict=True
    ):
        if depth:
            shapes[f"{side}_embedding.weight"] = (words, d_model)
            shapes["generator.weight"] = (words, d_model)
        for i in range(depth):
            at = f"{stack}.layers.{i}"
            for attention in ("self_attn", "cross_attn")[: 1 + (stack == "decoder" and depths[0] > 0)]:
                rows = {"w_q": q_rows, "w_k": k_rows, "w_v": k_rows}
                shapes |= {f"{at}.{attention}.{m}.weight": (n, d_model) for m, n in rows.items()}
                shapes[f"{at}.{attention}.w_o.weight"] = (d_model, q_rows)
                shapes[f"{at}.{attention}_norm.gamma"] = (d_model,)
            shapes |= {f"{at}.feed_forward.w_{n}.weight": (d_ff, d_model) for n in ("13" if gated else "1")}
            shapes[f"{at}.feed_forward.w_2.weight"] = (d_model, d_ff)
            shapes[f"{at}.feed_forward_norm.gamma"] = (d_model,)
        if depth and final_norm:
            shapes[f"{stack}.final_norm.gamma"] = (d_model,)
    for name, shape in list(shapes.items()):
        if name.endswith(".gamma"):
            shapes[name.replace(".gamma", ".beta")] = shape
        elif "embedding" not in name:
            shapes[name.replace(".weight", ".bias")] = shape[:1]
    return drawn_as({n: s for n, s in shapes.items() if not any(fnmatch(n, p) for p in without)}, seed)


def drawn_as(shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> Weights:
    """Random weights of these shapes, gammas around 1."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: float(name.endswith("gamma")) + 0.2 * torch.randn(shape, generator=generator)
        for name, shape in shapes.items()
    }


def sinusoids(length: int = MAX_LEN, d_model: int = D_MODEL, *, halves: bool = False) -> Tensor:
    """(length, D), sines and cosines interleaved as in the paper, or in halves as in tensor2tensor."""
    if halves:
        rate = 10_000 ** (-torch.arange(d_model // 2) / (d_model // 2 - 1))
    else:
        rate = 10_000 ** (-torch.arange(0, d_model, 2) / d_model)
    angle = torch.outer(torch.arange(length).float(), rate)
    pairs = (angle.sin(), angle.cos())
    return torch.cat(pairs, 1) if halves else torch.stack(pairs, -1).flatten(1)


def with_positions(weights: Weights, table: Tensor) -> Weights:
    """Add this position table (length, D) for each side that has an embedding."""
    sides = [side for side in ("src", "tgt") if f"{side}_embedding.weight" in weights]
    return weights | {f"{side}_positions": table.clone() for side in sides}


def published(weights: Weights, rules: Rules, *, without: tuple[str, ...] = ()) -> Weights:
    """The weights under another program's names, except those that match a pattern in `without`."""
    state_dict: Weights = {}
    for name, weight in weights.items():
        if any(fnmatch(name, pattern) for pattern in without):
            continue
        theirs = name
        for pattern, replacement in rules.items():
            theirs = re.sub(pattern, replacement, theirs)
        state_dict[theirs] = weight
    assert len(state_dict) == len(weights) - sum(
        any(fnmatch(name, pattern) for pattern in without) for name in weights
    ), "two weights under one name"
    return state_dict


def fused(weights: Weights, into: str, parts: str, *, within: str = "", heads: int = 0) -> Weights:
    """Fuse several matrices of each attention into one, and their biases too.

    Args:
        weights: under Headlight's names.
        into: name of the fused matrix, in place of "w_q" and the others.
        parts: letters of "qkv", in their order.
        within: part of the names of the attentions to fuse; empty for all.
        heads: number of heads if rows are ordered by head, then by part; 0 if by part only.
    """
    result = dict(weights)
    for name in weights:
        if f".w_{parts[0]}." not in name or within not in name:
            continue
        rows = [result.pop(name.replace(f"w_{parts[0]}", f"w_{part}")) for part in parts]
        if heads:
            rows = [torch.cat([part.unflatten(0, (heads, -1)) for part in rows], dim=1).flatten(0, 1)]
        result[name.replace(f"w_{parts[0]}", into)] = torch.cat(rows)
    return result


class Sample(NamedTuple):
    """A state dict as saved by another program.

    Attributes:
        family: name of its layout.
        theirs: the reference with that program's computation.
        state_dict: its weights under that program's names.
        answers: to what the files leave open.
    """

    family: str
    theirs: Reference
    state_dict: Weights
    answers: dict[str, Any]


class Compared(NamedTuple):
    """Our model of a sample, found to compute the reference's numbers, and its import report."""

    model: Transformer
    report: ImportReport

    @property
    def asked(self) -> dict[str, Any]:
        """The questions with the values used."""
        return {question.name: question.value for question in self.report.questions}


def compared(folder: Path, sample: Sample, **config: Any) -> Compared:
    """Import a sample with its answers and compare all numbers with the reference's.

    Args:
        folder: where its file is written.
        sample: a layout's sample.
        config: values that our configuration must have.
    """
    model, report = imported(raw_of(folder, sample.state_dict), sample.answers)
    assert report.family == sample.family
    assert {name: getattr(model.config, name) for name in config} == config
    assert_same(model, sample.theirs)
    return Compared(model, report)


def assert_same(ours: Transformer, theirs: Reference, tolerance: float = 1e-5) -> None:
    """Compare logits, every attention matrix and every layer's output on a padded batch, at all words."""
    pad_id, ids = theirs.program.pad_id, dict[str, Tensor | None]()
    for side, length, seed in (("src", S, 0), ("tgt", T, 1)):
        embedding = theirs.weights.get(f"{side}_embedding.weight")
        drawn_ids = None if embedding is None else random_ids(len(embedding), 2, length, seed=seed)
        ids[side] = drawn_ids if drawn_ids is None or pad_id < 0 else padded(drawn_ids, pad_id, length - 2)
    src, tgt = ids["src"], ids["tgt"]
    expected = theirs(src, tgt)
    trace = trace_of(ours, src, tgt)
    last = src if tgt is None else tgt
    assert last is not None
    words = last != pad_id
    if "generator.weight" in theirs.weights:
        _assert_close(trace["logits"].log_softmax(-1)[words], expected.log_softmax(-1)[words], tolerance)
    attentions = [path for path in theirs.seen if path.endswith(".weights")]
    assert len(attentions) == sum(path.endswith(".weights") for path in trace)
    for path, value in theirs.seen.items():
        looking = src if path.startswith("encoder") else tgt
        assert looking is not None
        rows = looking != pad_id
        if path in attentions:
            _assert_close(trace[path].transpose(1, 2)[rows], value.transpose(1, 2)[rows], tolerance)
        else:
            _assert_close(trace[path][rows], value[rows], tolerance)


def _assert_close(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    FIGURES.note_error(actual, expected)
    off = (actual - expected).abs().max().item() / expected.abs().max().item()
    assert off < tolerance, off
