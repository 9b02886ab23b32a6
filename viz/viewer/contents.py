"""What of a run goes into a file: all weights, and as much of the rest as fits, the nearest first.

A file can't be asked for more, and one that is sent by mail has to stay small. So weights that are far from
what is chosen are held in steps of half a unit of the fourth decimal, and the vectors and scores that nobody
may ever look at are left out. What is chosen is there in full: float32, as the model computed it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from viz.viewer.choice import Choice
from viz.viewer.frames import Arrays, is_whole, piece
from viz.viewer.held_run import HeldRun

Scope = Literal["head", "heads", "layer", "layers", "all"]
"""The chosen head; the same head of every attention; the chosen layer; it in every attention; everything."""

DECIMALS = 4
"""Of a rounded weight: no view shows more of one."""
STEPS = 2 * 10**DECIMALS
"""Steps from 0 to 1. Whether a number is above or below the middle of its last decimal decides how fewer
decimals of it are rounded."""
SMALL, MEDIUM = 480_000, 960_000
"""Bytes of a page: MEDIUM for what its pictures show, SMALL as long as there is more that may be asked."""
MOST_TRIED = 4_000_000
"""Weights of a long run up to which it is tried whether they have room, rounded: packed, some take a byte."""


@dataclass(frozen=True)
class Level:
    """How much is in a file.

    Attributes:
        exact: whose weights and scores are there as they were computed.
        vectors: whose vectors are there.
        limit: bytes of the page up to which that is done.
    """

    exact: Scope
    vectors: Scope
    limit: int = MEDIUM


LEVELS = (
    Level("head", "head"),
    Level("layer", "head"),
    Level("layers", "head"),
    Level("layers", "heads"),
    Level("all", "heads"),
    Level("all", "layer", SMALL),
    Level("all", "layers", SMALL),
    Level("all", "all", SMALL),
)
"""From the least, which goes into every file, to everything."""


@dataclass(frozen=True)
class Contents:
    """What a file has of a run.

    Attributes:
        held: the run, without the others that it is not compared with.
        choices: what is chosen, each time that the run is shown.
        level: how much there is.
        whole: whether the weights of all heads are there.
        arrays: by the names of `viz.viewer.frames`.
        rounded: the names of those that are in steps of a decimal, as `_rounded` has them.
    """

    held: HeldRun
    choices: tuple[Choice, ...]
    level: Level
    whole: bool
    arrays: Arrays
    rounded: tuple[str, ...]


def contents(
    held: HeldRun, choices: Sequence[Choice], *, around: int, everything: bool = False, share: float = 1.0
) -> Contents:
    """Take as much of a run as a file has room for.

    Args:
        held: the run.
        choices: of which most is taken.
        around: bytes of the page without the numbers.
        everything: take all numbers exactly, whatever the size.
        share: of the room that a run has in a file of its own.
    """
    compared = {choice.against for choice in choices}
    kept = {name: other for name, other in held.others.items() if name in compared}
    taker = _Taker(replace(held, others=kept), choices)
    if everything:
        return taker.at(LEVELS[-1], whole=True)
    chosen = _least(taker, share * MEDIUM - around)
    # Of a long run all scores of all heads would be more than a page can hold.
    levels = [level for level in LEVELS if chosen.whole or level.exact != "all"]
    for level in levels[1:]:
        richer = taker.at(level, whole=chosen.whole)
        if around + taker.encoded(richer) > share * level.limit:
            break
        chosen = richer
    return chosen


def shuffled(array: NDArray[Any]) -> NDArray[Any]:
    """Put the first bytes of all elements before their second ones, and so on: packed, they are shorter."""
    plain = np.ascontiguousarray(array)
    parts = plain.view(np.uint8).reshape(-1, plain.itemsize).T
    return np.frombuffer(parts.tobytes(), plain.dtype).reshape(plain.shape)


def _least(taker: _Taker, room: float) -> Contents:
    """The weights of all heads; of a long run in which they have no room, the maps of the grid."""
    families = taker.held.families.values()
    n_weights = sum(family.n_layers * family.n_heads * family.allowed.size for family in families)
    if is_whole(taker.held) or n_weights <= MOST_TRIED:
        whole = taker.at(LEVELS[0], whole=True)
        if is_whole(taker.held) or taker.encoded(whole) <= room:
            return whole
    return taker.at(LEVELS[0], whole=False)


class _Taker:
    """Takes more or less of a run, each piece of it only once."""

    def __init__(self, held: HeldRun, choices: Sequence[Choice]) -> None:
        self.held = held
        self._choices = tuple(choices)
        self._piece: Callable[[str], Arrays] = cache(partial(piece, held))
        self._sizes: dict[tuple[str, str], int] = {}

    def at(self, level: Level, *, whole: bool) -> Contents:
        """What is taken at a level, with the weights of all heads or only of some."""
        choices = self._choices
        if not whole:
            choices = tuple(_with_cell(self.held, choice) for choice in choices)
        exact = self._overviews() | self._vectors(level)
        if level.exact == "all":
            exact |= self._all()
        else:
            for place in self._heads(level.exact):
                exact |= self._piece(f"head:{place}")
        for other in self.held.others:
            for place in self._heads("head" if level.exact == "head" else "layer"):
                exact |= self._piece(f"other:{other}:{place}")
        if not whole:
            exact |= self._maps(choices)
        steps = {
            name: _rounded(array)
            for name, array in self._shown(whole=whole)
            if level.exact != "all" and name not in exact
        }
        rounded = tuple(name for name, array in steps.items() if array.dtype == np.uint16)
        return Contents(self.held, choices, level, whole, exact | steps, rounded)

    def encoded(self, taken: Contents) -> int:
        """About how many characters of a page its arrays are, packed."""
        total = 0
        for name, array in taken.arrays.items():
            key = (name, array.dtype.name)
            if key not in self._sizes:
                self._sizes[key] = len(zlib.compress(shuffled(array).tobytes()))
            total += self._sizes[key]
        return total * 4 // 3

    def _overviews(self) -> Arrays:
        """What is small: scores of heads, lengths of values."""
        arrays: Arrays = {}
        for name, family in self.held.families.items():
            arrays |= self._piece(f"ranking:{name}")
            if family.lengths is not None and family.lengths(0) is not None:
                arrays |= self._piece(f"lengths:{name}")
        return arrays

    def _all(self) -> Arrays:
        """Weights and scores of all heads."""
        arrays: Arrays = {}
        for name, family in self.held.families.items():
            arrays |= self._piece(f"weights:{name}")
            if family.scores is not None:
                arrays |= self._piece(f"scores:{name}")
        return arrays

    def _maps(self, choices: Sequence[Choice]) -> Arrays:
        """All heads as the grid shows them, and where they look from the chosen queries."""
        arrays: Arrays = {}
        for name, family in self.held.families.items():
            arrays |= self._piece(f"pooled:{name}")
            for choice in choices:
                assert choice.cell is not None
                if family.queries == self.held.families[choice.attention].queries:
                    arrays |= self._piece(f"row:{name}:{choice.cell[0]}")
        return arrays

    def _shown(self, *, whole: bool) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The weights that are shown and need not be exact."""
        if whole:
            for name in self.held.families:
                yield from self._piece(f"weights:{name}").items()
        else:
            for place in self._heads("layer"):
                yield f"head:{place}/weights", self._piece(f"head:{place}")[f"head:{place}/weights"]

    def _vectors(self, level: Level) -> Arrays:
        """Vectors; what is moved, the longest, of the chosen head only, unless all is there."""
        arrays: Arrays = {}
        full = self._heads("all" if level.vectors == "all" else "head")
        for place in self._heads(level.vectors):
            if self.held.families[cast("Attention", place.split(":")[0])].vectors is None:
                continue
            own = self._piece(f"vectors:{place}")
            arrays |= (
                own
                if place in full
                else {name: array for name, array in own.items() if not name.endswith("/moved")}
            )
        return arrays

    def _heads(self, scope: Scope) -> list[str]:
        """The heads of a scope, each written as in the names of pieces."""
        return list(dict.fromkeys(place for choice in self._choices for place in self._around(choice, scope)))

    def _around(self, choice: Choice, scope: Scope) -> Iterator[str]:
        chosen = self.held.families[choice.attention]
        others = [family for family in self.held.families.values() if family is not chosen]
        for family in [chosen] if scope in ("head", "layer") else [chosen, *others]:
            layers = range(family.n_layers) if scope == "all" else [min(choice.layer, family.n_layers - 1)]
            one = [min(choice.head, family.n_heads - 1)]
            heads = one if scope in ("head", "heads") else range(family.n_heads)
            yield from (f"{family.name}:{layer}:{head}" for layer in layers for head in heads)


def _rounded(weights: NDArray[np.float32]) -> NDArray[np.float32] | NDArray[np.uint16]:
    """Weights as steps; unchanged if they are anything but numbers from 0 to 1.

    A step is half a unit of the last decimal, so that its middle, rounded to that decimal or to fewer, is
    written as the weight itself. What is less than the first step is 0.
    """
    # A float32 has 24 bits: in float64 the product is exact.
    steps = np.floor(weights.astype(np.float64) * STEPS)
    if not np.all((steps >= 0) & (steps <= STEPS)):
        return weights
    return steps.astype(np.uint16)


def _with_cell(held: HeldRun, choice: Choice) -> Choice:
    return choice if choice.cell else replace(choice, cell=_strongest(held, choice))


def _strongest(held: HeldRun, choice: Choice) -> tuple[int, int]:
    """The cell of the largest weight of the chosen head, in a row that has a choice if there is one."""
    family = held.families[choice.attention]
    weights = family.weights(choice.layer)[choice.head]
    has_choice = family.allowed.sum(axis=1, keepdims=True) > 1
    open_cells = np.where(family.allowed & has_choice, weights, -1)
    query, key = np.unravel_index(int(np.argmax(open_cells)), weights.shape)
    return int(query), int(key)
