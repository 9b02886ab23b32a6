"""What is kept of each sentence and head: sums from which all scores and their intervals are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from transformer.analysis.roles.definitions import MEASURES
from transformer.analysis.roles.targets import N_BINS, distance_bins


@dataclass(frozen=True)
class Sums:
    """One attention's sums: n sentences, R measures (`MEASURES`), H heads of all layers, B distance bins.

    Attributes:
        given: weight on the cells of each measure: (n, R, H).
        rows: rows with such cells: (n, R).
        strongest: query and key of the strongest such cell: (n, R, H, 2).
        counted: such cells in each bin: (n, R, B).
        profile: weight in each bin, over rows with a choice of keys: (n, H, B).
        open: open cells in each bin, over these rows: (n, B).
        squares: the sum of these rows' squared weights: (n, H).
        uniform: the same if they were uniform: (n,).
    """

    given: Tensor
    rows: Tensor
    strongest: Tensor
    counted: Tensor
    profile: Tensor
    open: Tensor
    squares: Tensor
    uniform: Tensor

    def __len__(self) -> int:
        return len(self.uniform)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The tensors by name, for a file."""
        return {f"{prefix}{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], prefix: str) -> Sums:
        """The inverse of `tensors`."""
        return cls(**{field.name: tensors[f"{prefix}{field.name}"] for field in fields(cls)})

    @classmethod
    def joined(cls, parts: Sequence[Sums]) -> Sums:
        """Join the sentences of several parts."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})

    def chosen(self, sentences: Tensor) -> Sums:
        """Only these sentences."""
        return Sums(**{field.name: getattr(self, field.name)[sentences] for field in fields(self)})


def sums_of(weights: Tensor, allowed: Tensor, cells: Tensor) -> Sums:
    """The sums of one sentence.

    Args:
        weights: (H, Q, K), heads of all layers.
        allowed: (Q, K) bool, True = may attend.
        cells: (R, Q, K) bool; see `targets.cells`.
    """
    n_heads, n_queries, n_keys = weights.shape
    counts = allowed.sum(dim=-1)
    has_choice = counts > 1
    given, rows, strongest = cell_sums(weights, cells)
    bins = distance_bins(n_queries, n_keys)
    chosen = weights * has_choice[:, None]
    profile = torch.zeros(n_heads, N_BINS).index_add_(1, bins.flatten(), chosen.flatten(1))
    open_cells = (allowed & has_choice[:, None]).float()
    return Sums(
        given=given[None],
        rows=rows[None],
        strongest=strongest[None],
        counted=binned(cells, bins)[None],
        profile=profile[None],
        open=torch.zeros(N_BINS).index_add_(0, bins.flatten(), open_cells.flatten())[None],
        squares=chosen.square().sum(dim=(-2, -1))[None],
        uniform=(has_choice / counts.clamp(min=1)).sum()[None],
    )


def cell_sums(weights: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`given` (R, H), `rows` (R,) and `strongest` (R, H, 2) of weights (H, Q, K) and cells (R, Q, K)."""
    n_measures, _, n_keys = cells.shape
    given, strongest = torch.zeros(n_measures, len(weights)), torch.zeros(n_measures, len(weights), 2)
    for number in cells.flatten(1).any(dim=-1).nonzero().flatten().tolist():
        counted = (weights * cells[number]).flatten(1)
        given[number] = counted.sum(dim=-1)
        best = counted.argmax(dim=-1)
        strongest[number] = torch.stack((best // n_keys, best % n_keys), dim=-1).float()
    return given, cells.any(dim=-1).sum(dim=-1).float(), strongest.to(torch.int32)


def binned(cells: Tensor, bins: Tensor) -> Tensor:
    """Count cells (R, Q, K) in each bin (Q, K): (R, B)."""
    return torch.zeros(len(MEASURES), N_BINS).index_add_(1, bins.flatten(), cells.flatten(1).float())
