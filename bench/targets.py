"""What the viewer is to reach, beside what was measured: seconds, and ratios to BertViz of the same run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.browser.app_view import AppView
from bench.browser.shown_attention import Shown
from bench.measurement import BertvizView, Painted

SENTENCE = {64: 0.2, 512: 0.6}
"""From Enter to all painted, by tokens."""
HELD, FETCHED = 0.016, 0.15
"""From a click to another head, layer or attention that the browser holds, and that it has to ask for."""
HOVER = {128: 0.008, 512: 0.016}
"""From when the page is told of a movement to the cell marked, by tokens."""
SOONER, SMALLER = 20, 30
"""Times, beside BertViz."""


@dataclass(frozen=True)
class Target:
    """One of them.

    Attributes:
        name: of what is measured.
        limit: seconds at most, or times at least.
        measured: likewise; None where BertViz never painted.
        is_ratio: whether these are times.
    """

    name: str
    limit: float
    measured: float | None
    is_ratio: bool = False

    @property
    def is_met(self) -> bool:
        """Whether it is reached."""
        if self.measured is None:
            return True
        return self.measured >= self.limit if self.is_ratio else self.measured <= self.limit


def targets(app: Sequence[AppView], shown: Sequence[Shown], theirs: Sequence[BertvizView]) -> list[Target]:
    """All of them for which there are figures.

    Args:
        app: of one model.
        shown: by us, in any place.
        theirs: of the same tensors.
    """
    return [*_of_app(app), *_of_notebook(shown, theirs)]


def _of_app(app: Sequence[AppView]) -> Iterator[Target]:
    for view in app:
        tokens = view.sentence.tokens
        if tokens in SENTENCE and view.sentence.seconds is not None:
            yield Target(f"new sentence, {tokens} tokens", SENTENCE[tokens], view.sentence.seconds)
        if tokens in HOVER:
            yield Target(f"hover, {tokens} tokens", HOVER[tokens], view.hover.told)
    for name in ("head", "layer", "attention"):
        yield from _slowest(f"another {name}", HELD, [getattr(view, name) for view in app])
    yield from _slowest("fetched head", FETCHED, [view.fetched for view in app if view.fetched])


def _slowest(name: str, limit: float, all_painted: Sequence[Painted]) -> Iterator[Target]:
    known = [(one.seconds, one.tokens) for one in all_painted if one.seconds is not None]
    if known:
        seconds, tokens = max(known)
        yield Target(f"{name}, slowest at {tokens} tokens", limit, seconds)


def _of_notebook(shown: Sequence[Shown], theirs: Sequence[BertvizView]) -> Iterator[Target]:
    for ours, view in beside(shown, theirs):
        where = (
            f"{ours.layers} x {ours.heads} heads, {ours.opened.tokens} tokens: show_attention, {view.view}"
        )
        yield Target(f"{where}, sooner", SOONER, sooner(ours, view), is_ratio=True)
        yield Target(f"{where}, smaller", SMALLER, smaller(ours, view), is_ratio=True)


def beside(shown: Sequence[Shown], theirs: Sequence[BertvizView]) -> Iterator[tuple[Shown, BertvizView]]:
    """Ours in a notebook with each view of BertViz of the same size."""
    for ours in shown:
        for view in theirs:
            sizes = [(one.layers, one.heads, one.opened.tokens) for one in (ours, view)]
            if ours.place == "notebook" and sizes[0] == sizes[1]:
                yield ours, view


def sooner(ours: Shown, theirs: BertvizView) -> float | None:
    """How many times sooner ours is painted; None where theirs never was."""
    if ours.opened.seconds is None or theirs.opened.seconds is None:
        return None
    return theirs.opened.seconds / ours.opened.seconds


def smaller(ours: Shown, theirs: BertvizView) -> float:
    """How many times fewer bytes ours has: everything until it is at rest, and no libraries of either."""
    return theirs.opened.bytes / ours.page_bytes
