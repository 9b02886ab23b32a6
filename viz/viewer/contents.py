"""What a saved page contains: all weights, then as much else as fits, nearest to the selection first.

A file can't fetch more later, and has to be small enough to send by mail. So weights far from the selection
are stored in steps of half a unit of the fourth decimal, and vectors and scores that are unlikely to be
needed are left out. The selection itself is complete: float32, as computed by the model.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import Attention
from viz.viewer.choice import Choice
from viz.viewer.frames import RECEIPT, Arrays, is_short, piece
from viz.viewer.viewer_run import AttentionView, ViewerRun

Scope = Literal["head", "heads", "layer", "layers", "all"]
"""The chosen head; the same head of every attention; the chosen layer; that layer of every attention; all."""

DECIMALS = 4
"""Decimals of a rounded weight; no view shows more."""
STEPS = 2 * 10**DECIMALS
"""Steps from 0 to 1: half units of the last decimal, so that rounding to fewer decimals is still right."""
SMALL, MEDIUM = 480_000, 960_000
"""Bytes of a page: up to MEDIUM for what its pictures show, up to SMALL for extras that may be needed."""
MAX_TRIED = 4_000_000
"""Weights up to which all heads of a long run are tried, rounded: compressed, some take a single byte."""


@dataclass(frozen=True)
class Level:
    """How much a file contains.

    Attributes:
        exact: the heads whose weights and scores are stored exactly.
        vectors: the heads whose vectors are stored.
        limit: largest page at this level, in bytes.
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
"""From the least, which every file contains, to everything."""


@dataclass(frozen=True)
class Contents:
    """The part of a run that a file contains.

    Attributes:
        run: the run, with only those others that it is compared with.
        choices: one for each time that the run is shown.
        level: how much is stored.
        has_all_weights: true if the weights of all heads are stored.
        arrays: the arrays, named as in `viz.viewer.frames`.
        rounded: the names of the arrays that are stored in steps; see `_rounded`.
    """

    run: ViewerRun
    choices: tuple[Choice, ...]
    level: Level
    has_all_weights: bool
    arrays: Arrays
    rounded: tuple[str, ...]


def contents(
    run: ViewerRun, choices: Sequence[Choice], *, overhead: int, everything: bool = False, share: float = 1.0
) -> Contents:
    """Collect as much of a run as a file has room for.

    Args:
        run: the run.
        choices: the selections, which are stored most completely.
        overhead: bytes of the page without the numbers.
        everything: store all numbers exactly, whatever the size.
        share: share of the room that a run has in a file of its own.
    """
    compared = {choice.against for choice in choices}
    others = {name: other for name, other in run.others.items() if name in compared}
    collector = _Collector(replace(run, others=others), choices)
    if everything:
        return collector.collect(LEVELS[-1], all_weights=True)
    chosen = _least(collector, share * MEDIUM - overhead)
    # The scores of all heads of a long run would exceed the size of a page.
    levels = [level for level in LEVELS if chosen.has_all_weights or level.exact != "all"]
    for level in levels[1:]:
        richer = collector.collect(level, all_weights=chosen.has_all_weights)
        if overhead + collector.size(richer) > share * level.limit:
            break
        chosen = richer
    return chosen


def shuffled(array: NDArray[Any]) -> NDArray[Any]:
    """Group the first bytes of all elements, then their second bytes, and so on, which compresses better."""
    plain = np.ascontiguousarray(array)
    parts = plain.view(np.uint8).reshape(-1, plain.itemsize).T
    return np.frombuffer(parts.tobytes(), plain.dtype).reshape(plain.shape)


def _least(collector: _Collector, room: float) -> Contents:
    """The weights of all heads; if those of a long run don't fit, the maps of the grid."""
    run = collector.run
    n_weights = sum(view.n_layers * view.n_heads * view.allowed.size for view in run.attentions.values())
    if is_short(run) or n_weights <= MAX_TRIED:
        complete = collector.collect(LEVELS[0], all_weights=True)
        if is_short(run) or collector.size(complete) <= room:
            return complete
    return collector.collect(LEVELS[0], all_weights=False)


class _Collector:
    """Collects more or less of a run, computing each piece only once."""

    def __init__(self, run: ViewerRun, choices: Sequence[Choice]) -> None:
        self.run = run
        self._choices = tuple(choices)
        self._piece: Callable[[str], Arrays] = cache(partial(piece, run))
        self._sizes: dict[tuple[str, str], int] = {}

    def collect(self, level: Level, *, all_weights: bool) -> Contents:
        """The contents at a level, with the weights of all heads or of some."""
        choices = self._choices
        exact = self._summaries() | self._vectors(level)
        if level.exact == "all":
            exact |= self._pieces(f"weights:{name}" for name in self.run.attentions)
            exact |= self._pieces(
                f"scores:{name}" for name, view in self.run.attentions.items() if view.scores
            )
        else:
            heads = self._heads(level.exact)
            exact |= self._pieces(f"head:{head}" for head in heads)
            exact |= self._pieces(f"head_scores:{head}" for head in heads if self._attention(head).scores)
        compared = self._heads("head" if level.exact == "head" else "layer")
        exact |= self._pieces(f"other:{other}:{head}" for other in self.run.others for head in compared)
        if not all_weights:
            choices = tuple(self._with_cell(choice) for choice in choices)
            exact |= self._grid(choices)
        steps = {
            name: _rounded(array)
            for name, array in self._drawn_weights(all_weights=all_weights)
            if level.exact != "all" and name not in exact
        }
        rounded = tuple(name for name, array in steps.items() if array.dtype == np.uint16)
        return Contents(self.run, choices, level, all_weights, exact | steps, rounded)

    def size(self, collected: Contents) -> int:
        """The approximate size of the compressed arrays in a page, in characters."""
        total = 0
        for name, array in collected.arrays.items():
            key = (name, array.dtype.name)
            if key not in self._sizes:
                self._sizes[key] = len(zlib.compress(shuffled(array).tobytes()))
            total += self._sizes[key]
        return total * 4 // 3

    def _pieces(self, names: Iterable[str]) -> Arrays:
        return {key: array for name in names for key, array in self._piece(name).items()}

    def _summaries(self) -> Arrays:
        """The small arrays: rankings of heads, what each costs with the receipt, lengths of moved values."""
        views = self.run.attentions.items()
        lengths = (f"lengths:{name}" for name, view in views if view.lengths and view.lengths(0) is not None)
        costs = (f"costs:{name}" for name, view in views if view.costs is not None)
        rankings = (f"ranking:{name}" for name, _ in views)
        receipt = [RECEIPT] if self.run.receipt is not None else []
        return self._pieces((*rankings, *costs, *receipt, *lengths))

    def _grid(self, choices: Sequence[Choice]) -> Arrays:
        """All heads as shown in the grid, and where they look from the chosen queries."""
        arrays = self._pieces(f"pooled:{name}" for name in self.run.attentions)
        for choice in choices:
            assert choice.cell is not None
            queries = self.run.attentions[choice.attention].queries
            same = (name for name, view in self.run.attentions.items() if view.queries == queries)
            arrays |= self._pieces(f"row:{name}:{choice.cell[0]}" for name in same)
        return arrays

    def _drawn_weights(self, *, all_weights: bool) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """The weights that are drawn but need not be exact."""
        if all_weights:
            yield from self._pieces(f"weights:{name}" for name in self.run.attentions).items()
        else:
            for head in self._heads("layer"):
                yield f"head:{head}/weights", self._piece(f"head:{head}")[f"head:{head}/weights"]

    def _vectors(self, level: Level) -> Arrays:
        """The vectors; "moved", the longest, only for the chosen head, unless everything is stored."""
        complete = self._heads("all" if level.vectors == "all" else "head")
        heads = [head for head in self._heads(level.vectors) if self._attention(head).vectors]
        return {
            name: array
            for head in heads
            for name, array in self._piece(f"vectors:{head}").items()
            if head in complete or not name.endswith("/moved")
        }

    def _attention(self, head: str) -> AttentionView:
        return self.run.attentions[cast("Attention", head.split(":")[0])]

    def _heads(self, scope: Scope) -> list[str]:
        """The heads of a scope, written as in the names of pieces."""
        return list(dict.fromkeys(head for choice in self._choices for head in self._near(choice, scope)))

    def _near(self, choice: Choice, scope: Scope) -> Iterator[str]:
        chosen = self.run.attentions[choice.attention]
        others = [view for view in self.run.attentions.values() if view is not chosen]
        for view in [chosen] if scope in ("head", "layer") else [chosen, *others]:
            layers = range(view.n_layers) if scope == "all" else [min(choice.layer, view.n_layers - 1)]
            one = [min(choice.head, view.n_heads - 1)]
            heads = one if scope in ("head", "heads") else range(view.n_heads)
            yield from (f"{view.name}:{layer}:{head}" for layer in layers for head in heads)

    def _with_cell(self, choice: Choice) -> Choice:
        """Fill in the head's strongest cell, in a row with several open keys if there is one."""
        if choice.cell:
            return choice
        view = self.run.attentions[choice.attention]
        weights = view.weights(choice.layer)[choice.head]
        allowed = view.allowed_in(choice.layer)
        has_choice = allowed.sum(axis=1, keepdims=True) > 1
        open_cells = np.where(allowed & has_choice, weights, -1)
        query, key = np.unravel_index(int(np.argmax(open_cells)), weights.shape)
        return replace(choice, cell=(int(query), int(key)))


def _rounded(weights: NDArray[np.float32]) -> NDArray[np.float32] | NDArray[np.uint16]:
    """Weights as steps, rounded down; unchanged if any is not a number from 0 to 1.

    A step is half a unit of the last decimal. Its middle, rounded to that decimal or to fewer, reads the same
    as the weight itself. Weights below the first step become 0.
    """
    # A float32 has a 24-bit significand: in float64 the product is exact.
    steps = np.floor(weights.astype(np.float64) * STEPS)
    if not np.all((steps >= 0) & (steps <= STEPS)):
        return weights
    return steps.astype(np.uint16)
