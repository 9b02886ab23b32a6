"""Finds dead heads and duplicate heads from the weights alone.

A head consists of two circuits (Elhage et al. 2021, transformer-circuits.pub/2021/framework): W_Q^T W_K
determines where it attends, W_O W_V what it moves from there. Both are (d_model, d_model) of rank d_head;
their norms and scalar products are computed without materialising them: <A^T B, C^T D> = sum((A C^T) * (B
D^T)).

Thresholds: circuits of trained heads have similar norms. In the shipped models the weakest head's W_O W_V has
0.79 times the norm of the median head, in random models 0.9; a pruned head has exactly 0, and one removed by
weight decay far less than DEAD. For the two most similar heads of a shipped model, the lower cosine of their
two circuits is 0.23, in random models 0.1; copies have 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import torch
from torch import Tensor

from transformer.analysis.doctor.findings import Finding, fine, head_places, places, rounded
from transformer.model.attention import MultiHeadAttention
from transformer.model.normalization import Norm
from transformer.model.transformer import Transformer

DEAD = 1e-3
"""A head is dead if the norm of its W_O W_V is below this fraction of the median head's."""
DUPLICATE = 0.99
"""Two heads are duplicates if the cosines of both their circuits exceed this."""


@dataclass(frozen=True)
class HeadWeights:
    """The matrices of the H heads of an attention: q, k, v (H, d_head, D), o (H, D, d_head)."""

    path: str
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor


def attentions(model: Transformer) -> Iterator[HeadWeights]:
    """The head matrices of every attention of a model; shared keys and values are repeated.

    If queries and keys are normed, their rows are scaled by gamma.

    Attentions that merge heads without transposing are left out: no column of W_O belongs to one head.
    """
    for path, module in model.named_modules():
        if isinstance(module, MultiHeadAttention) and module.transposed:
            n_heads = module.n_heads
            q = module.w_q.weight.detach().unflatten(0, (n_heads, -1))
            k = module.w_k.weight.detach().unflatten(0, (-1, q.shape[1]))
            q, k = _weighed(q, module.q_norm), _weighed(k, module.k_norm)
            v = module.w_v.weight.detach().unflatten(0, (-1, q.shape[1]))
            o = module.w_o.weight.detach().unflatten(1, (n_heads, -1)).transpose(0, 1)
            group = n_heads // len(k)
            yield HeadWeights(path, q, k.repeat_interleave(group, 0), v.repeat_interleave(group, 0), o)


def _weighed(rows: Tensor, norm: Norm | None) -> Tensor:
    return rows if norm is None else rows * norm.gamma.detach().reshape(-1, rows.shape[1])[..., None]


def dead_findings(model: Transformer) -> list[Finding]:
    """Check whether any head's output is negligible compared with the others'."""
    strengths = {
        (heads.path, head): strength
        for heads in attentions(model)
        for head, strength in enumerate(
            _products(heads.o.transpose(1, 2), heads.v).diagonal().sqrt().tolist()
        )
    }
    if not strengths:
        return []
    typical = median(strengths.values())
    dead = [head for head, strength in strengths.items() if strength <= DEAD * typical]
    weakest = min(strengths.values()) / typical if typical else 0.0
    number = (
        f"the weakest of {len(strengths):,} heads has {rounded(weakest)} times the strength of the median one"
    )
    if not dead:
        return fine("All heads move something", number)
    return [
        Finding(
            "warning",
            "Dead heads",
            f"{len(dead):,} of {len(strengths):,}; {number}",
            "What these heads attend to is never passed on: the product of their W_O and W_V, the only way "
            "from the tokens they look at to the model's stream, is nothing.",
            "If they were pruned, all is well, and they can be left out. Otherwise weight decay or a dead "
            "gradient took them away: look at their weights in earlier checkpoints.",
            head_places(dead),
        )
    ]


def duplicate_findings(model: Transformer) -> list[Finding]:
    """Check whether two heads of one attention have the same circuits."""
    pairs, highest, compared = [], 0.0, False
    for heads in attentions(model):
        looking, moving = _cosines(heads.q, heads.k), _cosines(heads.o.transpose(1, 2), heads.v)
        alike = torch.minimum(looking, moving)
        for a, b in combinations(range(len(heads.q)), 2):
            compared, cosine = True, float(alike[a, b])
            highest = max(highest, cosine)
            if cosine > DUPLICATE:
                pairs.append(f"{heads.path} heads {a} and {b}")
    if not compared:
        return []
    number = f"cosine {highest:.2f} at most in both circuits, the same from {DUPLICATE} on"
    if not pairs:
        return fine("No two heads do the same", number)
    return [
        Finding(
            "warning",
            "Heads that do the same",
            f"{len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'}; {number}",
            "They attend to the same tokens and move the same from there: together they are one head, "
            "stronger.",
            "Look for heads that were initialised as copies or repeated by a conversion (keys and values "
            "that were repeated for grouped heads are not enough for this: the queries are the same too).",
            places(pairs),
        )
    ]


def _products(left: Tensor, right: Tensor) -> Tensor:
    """Scalar products of the circuits L_h^T R_h for all pairs of heads: (H, d, D), (H, d, D) -> (H, H)."""
    flat_left, flat_right = left.flatten(0, 1), right.flatten(0, 1)
    n_heads, width = left.shape[:2]
    both = (flat_left @ flat_left.T) * (flat_right @ flat_right.T)  # (H d, H d)
    return both.view(n_heads, width, n_heads, width).sum(dim=(1, 3)).clamp(min=0)


def _cosines(left: Tensor, right: Tensor) -> Tensor:
    """Cosines of the circuits for all pairs of heads: (H, H); 0 for a zero circuit."""
    products = _products(left, right)
    norms = products.diagonal().sqrt()
    scale = torch.outer(norms, norms)
    return torch.where(scale > 0, products / scale.clamp(min=torch.finfo(scale.dtype).tiny), 0.0)
