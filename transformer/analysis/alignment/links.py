"""Links between words, from a matrix of how strongly each pair of words belongs together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Link = tuple[int, int]
"""A source word and a target word, from 0."""
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def argmax_links(weights: NDArray[np.float64]) -> set[Link]:
    """Link each target word to its strongest source word.

    Args:
        weights: (target words, source words); words without any weight get no link.
    """
    return {
        (int(source), target)
        for target, source in enumerate(weights.argmax(axis=1))
        if weights[target, source]
    }


def diagonal_links(n_source: int, n_target: int) -> set[Link]:
    """Link each target word to the source word at the same part of the sentence: the baseline."""
    if not n_source:
        return set()
    return {((2 * target + 1) * n_source // (2 * n_target), target) for target in range(n_target)}


def symmetric_links(weights: NDArray[np.float64]) -> set[Link]:
    """Link words by "grow-diag" (Koehn, Och and Marcu 2003) between two readings of one matrix.

    A model translates in one direction only, so the second direction is the strongest target word of each
    source word. Before, each weight is multiplied by its shares of its row and of its column, so that a
    word that everything attends to is not everyone's partner.

    Args:
        weights: (target words, source words); words without any weight get no link.
    """
    if not weights.size:
        return set()
    sums = weights.sum(axis=1, keepdims=True) * weights.sum(axis=0, keepdims=True)
    shares = np.divide(weights**2, sums, out=np.zeros_like(weights), where=sums > 0)
    forward = argmax_links(shares)
    backward = {(source, target) for target, source in argmax_links(shares.T)}
    return _grown(forward & backward, forward | backward)


def _grown(links: set[Link], candidates: set[Link]) -> set[Link]:
    """Add neighbouring candidates of which one word has no link yet, until none is left."""
    found = set(links)
    sources, targets = {source for source, _ in found}, {target for _, target in found}
    has_grown = True
    while has_grown:
        has_grown = False
        for source, target in sorted(found):
            for down, across in _NEIGHBOURS:
                link = source + down, target + across
                if link in found or link not in candidates or (link[0] in sources and link[1] in targets):
                    continue
                found.add(link)
                sources.add(link[0])
                targets.add(link[1])
                has_grown = True
    return found
