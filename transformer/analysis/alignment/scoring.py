"""Alignment error rate against links by people, with intervals over sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.alignment.links import Link
from transformer.analysis.ranks import times_drawn

N_RESAMPLES = 10_000
_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")


class LinksError(ValueError):
    """A line is not a list of links; the message says what is wrong."""


@dataclass(frozen=True)
class Gold:
    """The links that people made for one pair.

    Attributes:
        sure: links that an alignment must have.
        possible: links that it may have, including sure ones.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % bootstrap interval over sentences."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Scores:
    """Scores of an alignment: `aer` is 0 for a perfect one, 1 for one without any right link."""

    precision: Estimate
    recall: Estimate
    aer: Estimate


@dataclass(frozen=True)
class Difference:
    """AER minus another alignment's, on the same resampled sentences; negative where it is better.

    Attributes:
        aer: the difference.
        p: two-sided p value of the bootstrap; never below 1 / N_RESAMPLES.
    """

    aer: Estimate
    p: float


def parse_gold(line: str, n_source: int, n_target: int) -> Gold:
    """Read the links of a pair: "0-0 1-2" are sure ones, "1?2" or "1p2" is a possible one.

    Args:
        line: the links, separated by spaces; nothing for a pair without links.
        n_source, n_target: numbers of words, to check the links.

    Raises:
        LinksError: for anything else, and for a link to a word that the pair doesn't have.
    """
    sure, possible = set(), set()
    for item in line.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise LinksError(f"{item[:30]!r} is no link: write 3-4 for a sure one, 3?4 for a possible one.")
        link = int(match[1]), int(match[3])
        if link[0] >= n_source or link[1] >= n_target:
            raise LinksError(
                f"the link {item} is outside the pair, which has {n_source} and {n_target} words: words are "
                "separated by spaces and counted from 0, source first."
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def scores(found: Sequence[AbstractSet[Link]], gold: Sequence[Gold], *, seed: int = 0) -> Scores:
    """Precision, recall and alignment error rate (Och and Ney 2003, section 5.1) over all links.

    Args:
        found: the links of each pair, as found.
        gold: the links of each pair by people.
        seed: seed of the resampled sentences; alignments scored with one seed are paired.
    """
    precision, recall, aer = _rates(_resampled(_counts(found, gold), seed))
    return Scores(_estimate(precision), _estimate(recall), _estimate(aer))


def difference(
    found: Sequence[AbstractSet[Link]],
    other: Sequence[AbstractSet[Link]],
    gold: Sequence[Gold],
    *,
    seed: int = 0,
) -> Difference:
    """The paired bootstrap of two alignments' error rates (Koehn 2004, Efron and Tibshirani 1993)."""
    own, theirs = (_rates(_resampled(_counts(links, gold), seed))[2] for links in (found, other))
    between = own - theirs
    smaller = min(np.mean(between[1:] <= 0), np.mean(between[1:] >= 0))
    return Difference(_estimate(between), float(np.clip(2 * smaller, 1 / N_RESAMPLES, 1)))


def _counts(found: Sequence[AbstractSet[Link]], gold: Sequence[Gold]) -> NDArray[np.int64]:
    """For each pair: links found, sure ones, found among the sure, found among the possible: (pairs, 4)."""
    rows = [
        (len(links), len(true.sure), len(links & true.sure), len(links & true.possible))
        for links, true in zip(found, gold, strict=True)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _resampled(counts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The counts over all pairs, and over each resample of them: (1 + N_RESAMPLES, 4)."""
    times = times_drawn(len(counts), N_RESAMPLES, seed)
    summed: NDArray[np.int64] = np.vstack([counts.sum(axis=0), times @ counts])
    return summed


def _rates(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Precision, recall and AER; nothing found and nothing to find is no error."""
    found, sure, right_sure, right = counts.T.astype(np.float64)
    return (
        _ratio(right, found),
        _ratio(right_sure, sure),
        1 - _ratio(right_sure + right, found + sure),
    )


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)


def _estimate(values: NDArray[np.float64]) -> Estimate:
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return Estimate(float(values[0]), float(low), float(high))
