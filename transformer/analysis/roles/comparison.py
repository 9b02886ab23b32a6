"""Two checkpoints of one architecture: their heads matched by what they do, and which of them changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from transformer.analysis.roles.assignment import cheapest_assignment
from transformer.analysis.roles.report import HeadReport, HeadRoles


class ComparisonError(ValueError):
    """Two reports can't be compared; the message is for users."""


@dataclass(frozen=True)
class HeadChange:
    """A head before and the head after that does the same, or most nearly so.

    Attributes:
        before, after: the two heads, of the same layer.
        looks: how much of its attention moved: the mean total variation between the rows of both, 0 to 1.
        writes: how much what it writes changed: ||a - b|| / (||a|| + ||b||), 0 to 1; 0 if it isn't known.
        role: the largest difference of any role's score.
    """

    before: HeadRoles
    after: HeadRoles
    looks: float
    writes: float
    role: float

    @property
    def change(self) -> float:
        """The larger of `looks` and `writes`."""
        return max(self.looks, self.writes)


def compare(before: HeadReport, after: HeadReport) -> list[HeadChange]:
    """Match the heads of each layer, and rank them: what changed most is first.

    Heads are assigned one to one so that the sum of `looks`, `writes` and `role` is least. Among equal
    changes the lower layer is first.

    Raises:
        ComparisonError: the models have other heads, or read other sentences.
    """
    places = [[(one.attention, one.layer, one.head) for one in report.heads] for report in (before, after)]
    if sorted(places[0]) != sorted(places[1]):
        raise ComparisonError("The two models have different layers or heads, so these can't be matched.")
    if before.ids != after.ids or before.row_lengths != after.row_lengths:
        raise ComparisonError(
            "The two models read different tokens: analyse both with the same --pairs and --limit."
        )
    layers = [_by_layer(report) for report in (before, after)]
    found: list[HeadChange] = []
    for place, own in layers[0].items():
        others, lengths = layers[1][place], before.row_lengths[place[0]]
        changes = [[_change(one, other, lengths) for other in others] for one in own]
        costs = [[one.looks + one.writes + one.role for one in row] for row in changes]
        columns = cheapest_assignment(costs)
        found += [row[column] for row, column in zip(changes, columns, strict=True)]
    return sorted(found, key=lambda one: -one.change)


def _by_layer(report: HeadReport) -> dict[tuple[Attention, int], list[HeadRoles]]:
    """The heads of each attention's layers, in order."""

    def place(head: HeadRoles) -> tuple[Attention, int]:
        return head.attention, head.layer

    heads = sorted(report.heads, key=lambda one: (one.layer, one.attention, one.head))
    return {key: list(own) for key, own in groupby(heads, key=place)}


def _change(one: HeadRoles, other: HeadRoles, row_lengths: Sequence[int]) -> HeadChange:
    ends = np.cumsum(row_lengths)
    moved = np.abs(np.array(one.weights) - np.array(other.weights))
    per_row = np.add.reduceat(moved, [0, *ends[:-1]]) / 2 if len(moved) else np.zeros(1)
    shared = one.scores.keys() & other.scores.keys()
    return HeadChange(
        before=one,
        after=other,
        looks=float(per_row.mean()),
        writes=_relative(np.array(one.writes), np.array(other.writes)),
        role=max((abs(one.scores[role].score - other.scores[role].score) for role in shared), default=0.0),
    )


def _relative(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    if len(one) != len(other):
        return 0.0
    whole = float(np.linalg.norm(one) + np.linalg.norm(other))
    return float(np.linalg.norm(one - other)) / whole if whole else 0.0
