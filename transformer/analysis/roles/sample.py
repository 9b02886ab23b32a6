"""A sample of what each head does, to match and compare the heads of two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention_maps import MODULES, Attention
from transformer.analysis.roles.measuring import attentions_of, maps_of
from transformer.analysis.roles.sentences import Sentence, recorded
from transformer.loaded import LoadedModel
from transformer.model.attention import MultiHeadAttention

ROWS = 40
"""Rows of an attention after which no further sentence is sampled."""
DIRECTIONS = 8
"""Random directions in the model's space onto which what a head writes is projected."""
_SEED = 17
"""Seed of these directions, the same for all models."""


@dataclass(frozen=True)
class Sample:
    """What the H heads of an attention do in R rows of the first sentences.

    Attributes:
        row_lengths: keys of each row.
        weights: the rows, one after the other: (H, sum of row_lengths).
        writes: projections of z W_O: (H, R * DIRECTIONS); no columns if heads are merged untransposed.
    """

    row_lengths: tuple[int, ...]
    weights: Tensor
    writes: Tensor


def sample(loaded: LoadedModel, sentences: Sequence[Sentence]) -> dict[Attention, Sample]:
    """Sample each attention of a model."""
    config = loaded.model.config
    generator = torch.Generator().manual_seed(_SEED)
    directions = torch.randn(config.d_model, DIRECTIONS, generator=generator)
    found: dict[Attention, list[Sample]] = {attention: [] for attention in attentions_of(config)}
    for sentence in sentences:
        wanting = [name for name, own in found.items() if sum(len(one.row_lengths) for one in own) < ROWS]
        if not wanting:
            break
        records = recorded(loaded, [sentence], _is_kept)
        for attention in wanting:
            weights, _ = maps_of(loaded, records, attention, 0, sentence)
            writes = _writes(loaded, records, attention, directions)
            n_rows, n_keys = weights.shape[1:]
            found[attention].append(Sample((n_keys,) * n_rows, weights.flatten(1), writes))
    return {
        attention: Sample(
            tuple(length for one in own for length in one.row_lengths),
            torch.cat([one.weights for one in own], dim=1),
            torch.cat([one.writes for one in own], dim=1),
        )
        for attention, own in found.items()
    }


def _is_kept(path: str) -> bool:
    return path.endswith(("_attn.weights", "_attn.mask", "_attn.z"))


@torch.inference_mode()
def _writes(
    loaded: LoadedModel, records: dict[str, Tensor], attention: Attention, directions: Tensor
) -> Tensor:
    """What the heads of all layers write in one sentence, projected: (H, Q * DIRECTIONS)."""
    stack, name = MODULES[attention]
    found = []
    for layer in range(attentions_of(loaded.model.config)[attention]):
        path = f"{stack}.layers.{layer}.{name}"
        module = loaded.model.get_submodule(path)
        assert isinstance(module, MultiHeadAttention)
        z = records[f"{path}.z"][0]  # (H, Q, d_head)
        if not module.transposed:
            return torch.zeros(len(z) * attentions_of(loaded.model.config)[attention], 0)
        rows = module.w_o.weight.float().cpu().unflatten(-1, (module.n_heads, -1))  # (D, H, d_head)
        found.append(torch.einsum("hqe,dhe,dp->hqp", z, rows, directions).flatten(1))
    return torch.cat(found)
