"""The score ledger: why a head looks there, as a sum over parts of the query and parts of the key.

A score is bilinear in what the head reads at both positions, and each of the two is a sum of token, position,
earlier heads, earlier feed-forwards and biases (QK circuits, Elhage et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from transformer.analysis.attention_maps import MODULES
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.ledgers.reading import Part, Reading
from transformer.analysis.ledgers.stream import Stream
from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention
from transformer.model.config import TransformerConfig
from transformer.model.normalization import Norm
from transformer.model.positions import rotary_wavelengths, rotate, rotation
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer
from transformer.run import Run


@dataclass(frozen=True)
class ScoreLedger:
    """The terms of one score.

    Attributes:
        query_parts, key_parts: what the query and the key are made of.
        values: (query parts, key parts) float64, scaled as scores are.
        position_bias: bias by distance added to the product; 0 in a model without.
        recorded: the score that the model computed, before any soft cap.
    """

    query_parts: tuple[Part, ...]
    key_parts: tuple[Part, ...]
    values: NDArray[np.float64]
    position_bias: float
    recorded: float

    @property
    def total(self) -> float:
        """The sum of all terms and the bias by distance."""
        return float(self.values.sum()) + self.position_bias


def score_ledger(loaded: LoadedModel, run: Run, place: HeadPlace, query: int, key: int) -> ScoreLedger:
    """Take apart the score of one head for one query and one key (positions).

    Raises:
        ValueError: there is no such layer, head, query or key.
    """
    model, trace = loaded.model, run.trace
    stack, name = MODULES[place.attention]
    path = f"{stack}.layers.{place.layer}.{name}"
    if f"{path}.scores" not in trace:
        raise ValueError(f"The model has no attention {path}.")
    scores = trace[f"{path}.scores_uncapped" if model.config.attention_soft_cap else f"{path}.scores"][0]
    if not all(0 <= i < n for i, n in zip((place.head, query, key), scores.shape, strict=True)):
        n_heads, n_queries, n_keys = scores.shape
        raise ValueError(f"{path} has {n_heads} heads, {n_queries} queries and {n_keys} keys.")
    queries = _read_back(model, trace, path, "q", place.head, query)
    Stream(model, trace, stack, query).read_input(place.layer, name, queries)
    module = _attention(model, path)
    shared = place.head // (module.n_heads // module.n_kv_heads)
    keys = _read_back(model, trace, path, "k", shared, key)
    if name == "cross_attn":
        Stream(model, trace, "encoder", key).read_output(keys)
    else:
        Stream(model, trace, stack, key).read_input(place.layer, name, keys)
    (query_parts, q), (key_parts, k) = queries.collected(), keys.collected()
    bias = trace.get(f"{path}.position_bias")
    return ScoreLedger(
        query_parts,
        key_parts,
        model.config.attention_factor * q @ k.T,
        0.0 if bias is None else float(bias[0, place.head, query, key]),
        float(scores[place.head, query, key]),
    )


def _read_back(model: Transformer, trace: Trace, path: str, side: str, head: int, position: int) -> Reading:
    """The reading whose R numbers are a query's or key's (d_head), pulled back to the module's input."""
    module = _attention(model, path)
    stack, _, number, sublayer = path.split(".")
    layer = int(number)
    base = model.config.rotary_base("encoder" if stack == "encoder" else "decoder", layer)
    turns = base and sublayer == "self_attn"
    reading = Reading(_rotation(model.config, base, position) if turns else torch.eye(module.d_head))
    norm: Norm | None = module.q_norm if side == "q" else module.k_norm
    matrix = module.w_q if side == "q" else module.w_k
    own = slice(head * module.d_head, (head + 1) * module.d_head)
    if norm is not None:
        scale, part = trace[f"{path}.{side}_norm.scale"][0], Part("bias", layer, f"{sublayer}.{side}_norm")
        if module.norms_across_heads:
            selection = torch.eye(module.d_head)  # of the head's numbers among those of all
            around = (own.start, len(matrix.weight) - own.stop)
            reading.through_matrix(functional.pad(selection, around), None, part)
            reading.through_norm(norm, scale[position], part)
            own = slice(None)
        else:
            reading.through_norm(norm, scale[head, position], part, head)
    bias = None if matrix.bias is None else matrix.bias[own]
    reading.through_matrix(matrix.weight[own], bias, Part("bias", layer, f"{sublayer}.w_{side}"))
    return reading


def _rotation(config: TransformerConfig, base: float, position: int) -> Tensor:
    """The matrix (d_head, d_head) that turns a row vector as a position does."""
    basis = torch.eye(config.d_head, dtype=torch.float64)
    by = rotation(position, 1, rotary_wavelengths(config, base), like=basis)
    return rotate(basis[None, :, None], by)[0, :, 0]


def _attention(model: Transformer, path: str) -> MultiHeadAttention:
    module = model.get_submodule(path)
    assert isinstance(module, MultiHeadAttention)
    return module
