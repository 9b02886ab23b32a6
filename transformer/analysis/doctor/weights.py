"""Finds values that no weight should have: NaN, infinity, and constant matrices.

Tensors are read one at a time and in pieces, so that a memory-mapped model larger than the memory is read
once and never copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from transformer.analysis.doctor.findings import Finding, fine, places

_PIECE = 1 << 22
"""Number of values read at a time: 16 MB of float32."""


@dataclass(frozen=True)
class TensorSummary:
    """A summary of a tensor's values.

    Attributes:
        name: name of the tensor.
        shape: its sizes.
        low, high: smallest and largest value; NaN if there is a NaN.
        n_nan, n_infinite: number of NaN and of infinite values.
    """

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    n_nan: int
    n_infinite: int

    @property
    def finite(self) -> bool:
        """True if all values are finite."""
        return not self.n_nan and not self.n_infinite


def measure(name: str, tensor: Tensor) -> TensorSummary:
    """Summarise a floating-point tensor, reading every value once."""
    low, high, n_nan, n_infinite = float("inf"), float("-inf"), 0, 0
    for piece in _pieces(tensor.detach()):
        lowest, highest = (float(end) for end in piece.aminmax())
        if not math.isfinite(lowest) or not math.isfinite(highest):
            n_nan += int(piece.isnan().sum())
            n_infinite += int(piece.isinf().sum())
        low = lowest if lowest < low or lowest != lowest else low
        high = highest if highest > high or highest != highest else high
    return TensorSummary(name, tuple(tensor.shape), low, high, n_nan, n_infinite)


def finite_findings(numbers: Sequence[TensorSummary], whose: str = "model") -> list[Finding]:
    """Check that no weight is NaN or infinite: a single one can spoil every output.

    Args:
        numbers: summaries of all tensors.
        whose: owner of the tensors, "model" or "files".
    """
    bad = [tensor for tensor in numbers if not tensor.finite]
    if not bad:
        number = f"{len(numbers):,} tensors of the {whose}, none with NaN or infinite"
        return fine("All weights are numbers", number)
    findings = []
    for kind, counts in (
        ("NaN", {tensor.name: tensor.n_nan for tensor in bad if tensor.n_nan}),
        ("infinite", {tensor.name: tensor.n_infinite for tensor in bad if tensor.n_infinite}),
    ):
        if counts:
            findings.append(
                Finding(
                    "problem",
                    f"Weights that are {kind}",
                    f"{sum(counts.values()):,} of them in {len(counts):,} of {len(numbers):,} tensors",
                    "Whatever is computed with one of them is not finite either: every output after it is "
                    "lost.",
                    "Take an earlier checkpoint. In training, look at the loss before this one: a learning "
                    "rate that is too high, or float16 without loss scaling, overflows like this.",
                    places(f"{name} ({count:,})" for name, count in counts.items()),
                )
            )
    return findings


def constant_findings(numbers: Iterable[TensorSummary]) -> list[Finding]:
    """Check whether any matrix is constant: all zeros, or another value throughout.

    Vectors, one per head or not, are left out: biases often start at 0 and gammas at 1, and may stay there.
    """
    whole = (tensor for tensor in numbers if len(tensor.shape) > 1 and max(tensor.shape) > 1)
    matrices = [tensor for tensor in whole if not tensor.name.endswith((".gamma", ".beta"))]
    same = [tensor for tensor in matrices if tensor.low == tensor.high]
    findings = []
    for zero in (True, False):
        names = [tensor.name for tensor in same if (tensor.low == 0) == zero]
        if names:
            findings.append(
                Finding(
                    "warning",
                    "Matrices of zeros" if zero else "Matrices of one number throughout",
                    f"{len(names):,} of {len(matrices):,} matrices",
                    "Nothing of a token gets through them: their output is the same for all tokens."
                    if not zero
                    else "Nothing gets through them: their part of the model adds its bias at most.",
                    "Unless this is intended, they were never loaded or never trained: compare "
                    "with the checkpoint that you started from.",
                    places(names),
                )
            )
    return findings or fine("No matrix is constant", f"{len(matrices):,} matrices")


def _pieces(tensor: Tensor) -> tuple[Tensor, ...]:
    """Split into groups of rows, without copying, whatever the memory layout."""
    if not tensor.dim():
        return (tensor,)
    return tensor.split(max(1, _PIECE * len(tensor) // tensor.numel()))
