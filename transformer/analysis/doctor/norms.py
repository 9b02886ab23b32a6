"""Finds norms with unusual gammas: zero, negative or huge.

Gammas start at 1 and stay positive in almost every trained model. A few get near or below zero, and some
dimensions of BERT, GPT-2 and similar models have gammas about ten times the others' ("outlier dimensions",
Kovaleva et al. 2021, arXiv:2105.06990). Those get notes. A norm gets a warning if its gammas as a whole can't
be intended. The shipped models' gammas lie between 0.14 and 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from transformer.analysis.doctor.findings import Finding, fine, places, rounded, share
from transformer.model.transformer import Transformer

MANY_ZERO = 0.05
"""Fraction of zero gammas above which a norm gets a warning."""
MANY_NEGATIVE = 0.25
"""Fraction of negative gammas above which a norm gets a warning; half of gammas stored as gamma - 1 are."""
HUGE = 100.0
"""Absolute gamma above which a norm gets a warning; no trained model seen so far has a larger one."""


@dataclass(frozen=True)
class Gammas:
    """The gammas of one norm: total, number that are exactly 0, number that are negative, largest size."""

    path: str
    n: int
    n_zero: int
    n_negative: int
    largest: float


def gammas(model: Transformer) -> list[Gammas]:
    """The gammas of every norm."""
    found = []
    for name, parameter in model.named_parameters():
        if name.endswith(".gamma"):
            values = parameter.detach()
            found.append(
                Gammas(
                    name.removesuffix(".gamma"),
                    values.numel(),
                    int((values == 0).sum()),
                    int((values < 0).sum()),
                    float(torch.nan_to_num(values.abs()).max()),
                )
            )
    return found


def norm_findings(model: Transformer) -> list[Finding]:
    """Check that the norms' gammas are typical of trained models."""
    norms = gammas(model)
    if not norms:
        return fine("The model has no norms")
    findings = [
        *_closed(norms),
        *_zeros(norms),
        *_negative(norms),
        *_huge(norms),
    ]
    largest = max(norm.largest for norm in norms)
    return findings or fine(
        "All norms have ordinary gammas",
        f"{len(norms):,} norms, |gamma| {rounded(largest, digits=3)} at most, none ≤ 0",
    )


def _closed(norms: Sequence[Gammas]) -> Iterator[Finding]:
    closed = [norm.path for norm in norms if norm.n_zero == norm.n]
    if closed:
        yield Finding(
            "problem",
            "Norms that let nothing through",
            f"all gammas of {len(closed):,} of {len(norms):,} norms are 0",
            "After such a norm every token is the same vector, its beta.",
            "They were never loaded, or training zeroed them: use an earlier checkpoint, or check whether "
            "a conversion swapped gamma and beta.",
            places(closed),
        )


def _zeros(norms: Sequence[Gammas]) -> Iterator[Finding]:
    some = [norm for norm in norms if 0 < norm.n_zero < norm.n]
    if some:
        worst = max(norm.n_zero / norm.n for norm in some)
        yield Finding(
            "warning" if worst > MANY_ZERO else "note",
            "Gammas that are zero",
            f"{sum(norm.n_zero for norm in some):,} in {len(some):,} norms; {share(worst)} in one",
            "The sublayers after such a norm don't see these dimensions.",
            "A few may come from pruning. Many point to a checkpoint that was cut, or to weights never "
            "loaded.",
            places(f"{norm.path} ({norm.n_zero:,} of {norm.n:,})" for norm in some),
        )


def _negative(norms: Sequence[Gammas]) -> Iterator[Finding]:
    some = [norm for norm in norms if norm.n_negative]
    if some:
        worst = max(norm.n_negative / norm.n for norm in some)
        yield Finding(
            "warning" if worst > MANY_NEGATIVE else "note",
            "Gammas that are negative",
            f"{sum(norm.n_negative for norm in some):,} in {len(some):,} norms; {share(worst)} in one",
            "The signs of these dimensions are flipped. Training rarely does that, and never to many.",
            "If there are many, the file may store gamma - 1, as some implementations do: add 1 before you "
            "save the weights.",
            places(f"{norm.path} ({norm.n_negative:,} of {norm.n:,})" for norm in some),
        )


def _huge(norms: Sequence[Gammas]) -> Iterator[Finding]:
    some = [norm for norm in norms if norm.largest > HUGE]
    if some:
        yield Finding(
            "warning",
            "Gammas that are huge",
            f"up to {max(norm.largest for norm in some):,.3g} in {len(some):,} of {len(norms):,} norms",
            "One dimension drowns all others after the norm.",
            "Look for a learning rate that was too high, and include the norms in gradient clipping.",
            places(f"{norm.path} ({norm.largest:,.3g})" for norm in some),
        )
