"""What samples of published repositories have in common: rules for names, tables of positions, storage."""

from __future__ import annotations

import math
import re
from typing import Any

import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.reference import (
    D_MODEL,
    HEADS,
    MAX_LEN,
    Program,
    Reference,
    Rules,
    Sample,
    Weights,
    drawn_as,
    published,
)

SCALE = math.sqrt(D_MODEL)
TORCH = {"gamma$": "weight", "beta$": "bias"}
"""Names of the parameters of torch's own norm."""


def numbered_norms(name: str, first: int = 1) -> Rules:
    """Rules for norms numbered in the order of a layer's sublayers; `{}` in the name is the number."""
    return {
        "self_attn_norm": name.format(first),
        "cross_attn_norm": name.format(first + 1),
        "^encoder(.*)feed_forward_norm": rf"encoder\1{name.format(first + 1)}",
        "^decoder(.*)feed_forward_norm": rf"decoder\1{name.format(first + 2)}",
    }


def attentions(encoder: str, decoder: str, cross: str) -> Rules:
    """Rules for the encoder's attention, the decoder's own and its cross-attention; norms go before them."""
    return {
        "^encoder(.*)self_attn": rf"encoder\1{encoder}",
        "^decoder(.*)self_attn": rf"decoder\1{decoder}",
        "cross_attn": cross,
    }


def projections(queries: str, keys: str, values: str, output: str) -> Rules:
    """Rules for the matrices of an attention."""
    return {"w_q": queries, "w_k": keys, "w_v": values, "w_o": output}


def learned() -> Tensor:
    """(MAX_LEN, D), a random table of positions."""
    return drawn_as({"table": (MAX_LEN, D_MODEL)})["table"]


def doubled_exponents() -> Tensor:
    """(MAX_LEN, D): sines in even columns i, cosines in odd ones, of position / 10000^(2i / D)."""
    table = torch.zeros(MAX_LEN, D_MODEL)
    for position in range(MAX_LEN):
        for i in range(D_MODEL):
            angle = position / 10_000 ** (2 * i / D_MODEL)
            table[position, i] = math.cos(angle) if i % 2 else math.sin(angle)
    return table


def tied(weights: Weights, *names: str) -> Weights:
    """The weights with one tensor under all of these names."""
    return weights | dict.fromkeys(names, weights[names[0]])


def shared_by_heads(weights: Weights) -> tuple[Weights, Weights]:
    """Weights with one small matrix (and bias) for the heads of each projection: as stored, and as used."""
    head = D_MODEL // HEADS
    stored, used = dict(weights), dict(weights)
    for name, weight in weights.items():
        if re.search(r"attn\.w_[qkv]\.", name) is None:
            continue
        block = weight[:head, :head].clone() if weight.dim() == 2 else weight[:head].clone()
        stored[name] = block
        used[name] = torch.block_diag(*[block] * HEADS) if block.dim() == 2 else block.repeat(HEADS)
    return stored, used


def with_convolutions(sample: Sample, within: str) -> Sample:
    """The sample with the matrices of these names stored as convolutions of kernel size 1."""
    kernels = {
        name: weight[..., None]
        for name, weight in sample.state_dict.items()
        if within in name and weight.dim() == 2
    }
    return sample._replace(state_dict=sample.state_dict | kernels)


def made(
    family: str,
    weights: Weights,
    rules: Rules,
    program: Program,
    *,
    stored: Weights | None = None,
    without: tuple[str, ...] = (),
    batch_axis: int | None = 0,
    **answers: Any,
) -> Sample:
    """A sample of these weights.

    Args:
        family: name of its layout.
        weights: what the program uses.
        rules: for the names that it saves.
        program: its computation.
        stored: what it saves, if it isn't what it uses.
        without: patterns (as in a shell) of names that it doesn't save.
        batch_axis: where its tables of sinusoids have an axis for the batch; None for nowhere.
        answers: in addition to the heads and the padding, or in place of them; None for an answer not given.
    """
    saved = published(weights if stored is None else stored, rules, without=without)
    if batch_axis is not None:
        saved = {
            name: weight.unsqueeze(batch_axis) if name.endswith(("table", ".pe", "encodings")) else weight
            for name, weight in saved.items()
        }
    known = {"n_heads": HEADS, "pad_id": program.pad_id} | answers
    known = {name: answer for name, answer in known.items() if answer is not None}
    return Sample(family, Reference(weights, program), saved, known)
