"""The choice in the viewer. It may be sent by a browser or an address, so a run may not allow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from transformer.analysis.attention_maps import Attention
from transformer.analysis.head_ranking import readability
from viz.viewer.viewer_run import AttentionView, ViewerRun

VIEWS = ("head", "layer", "map", "token")
"""One head, all heads of its layer, their lines, or every head from one token."""
MEASURES = ("weights", "scores", "masked", "moved")
"""The number in a cell: weight, score before or after the mask, or length of the moved vector."""
ADDITIVE = ("weights", "moved")
"""Measures whose numbers for sub-words add up to that of the word."""
SORTS = ("layer", "cost", "entropy", "distance", "special", "sharpness", "diagonal")
"""Orders of the grid of heads."""
_MAX_DIGITS = 9


@dataclass(frozen=True)
class Choice:
    """The user's choice in the viewer of a run.

    Attributes:
        view: one of `VIEWS`.
        attention: the name of an attention of the run.
        layer, head: indices in that attention.
        cell: the positions of a query and a key; None for the head's strongest cell.
        measure: one of `MEASURES`.
        by: what a row or column represents: "token" or "word".
        rows: the label of a decoder's row: the token that is "read" or the one that is "written" there.
        special: whether to "keep" special tokens and punctuation, to "hide" them, or to hide them and
            "spread" their weight over the rest.
        against: what the head is compared with: "" (nothing), the name of another run, or "head 3".
        mass: percent of each row's attention that the lines show.
        heads: the heads whose lines are drawn; None for all.
        families: "one" if the lines show the chosen attention only, "all" if they show all of the run.
        locked: the token selected among the lines: its column, 0 or 1, and its position; None for none.
        sort: one of `SORTS`.
    """

    attention: Attention
    layer: int
    head: int = 0
    view: str = "head"
    cell: tuple[int, int] | None = None
    measure: str = "weights"
    by: str = "token"
    rows: str = "written"
    special: str = "keep"
    against: str = ""
    mass: int = 90
    heads: tuple[int, ...] | None = None
    families: str = "all"
    locked: tuple[int, int] | None = None
    sort: str = "layer"

    def data(self) -> dict[str, Any]:
        """The choice as JSON-serialisable values."""
        return asdict(self)

    def written(self) -> dict[str, str]:
        """The choice as text values, for an address."""
        return {name: _text(value) for name, value in asdict(self).items()}


NAMES = tuple(Choice.__dataclass_fields__)
"""The fields of a choice, in order."""


def default_choice(run: ViewerRun) -> Choice:
    """The head of the cross-attention, or else of the first attention, that is easiest to read."""
    attention = run.attentions.get("cross") or next(iter(run.attentions.values()))
    return Choice(attention.name, *easiest_head(run, attention))


def easiest_head(run: ViewerRun, attention: AttentionView) -> tuple[int, int]:
    """The layer and head of an attention that are easiest to read; see `readability`."""

    def find() -> tuple[int, int]:
        keys = run.sides[attention.keys]
        left_out = (*keys.special, *keys.punctuation)
        scores = np.stack(
            [readability(attention.weights(layer), left_out) for layer in range(attention.n_layers)]
        )
        layer, head = np.unravel_index(scores.argmax(), scores.shape)
        return int(layer), int(head)

    return run.once(f"easiest:{attention.name}", find)


def read_choice(
    values: Mapping[str, Any], run: ViewerRun, default: Choice | None = None, views: Sequence[str] = VIEWS
) -> Choice:
    """Read a choice from a browser or an address; values that the run does not allow become the default's.

    Args:
        values: as returned by `Choice.data` or `Choice.written`; some may be missing.
        run: the run.
        default: None for `default_choice`.
        views: the views on offer.
    """
    default = default or default_choice(run)
    texts = {name: _text(values[name]) for name in NAMES if name in values}
    named = (own for own in run.attentions.values() if own.name == texts.get("attention"))
    attention = next(named, run.attentions[default.attention])
    chosen: dict[str, Any] = {
        name: texts[name]
        for name, allowed in ({"view": views} | _options(run, attention)).items()
        if texts.get(name) in allowed
    }
    layers, heads = _numbers(texts.get("layer")), _numbers(texts.get("head"))
    cell, mass = _numbers(texts.get("cell")), _numbers(texts.get("mass"))
    if len(layers) == 1:
        chosen["layer"] = layers[0]
    if len(heads) == 1:
        chosen["head"] = heads[0]
    if len(cell) == 2 and cell[0] < attention.allowed.shape[0] and cell[1] < attention.allowed.shape[1]:
        chosen["cell"] = (cell[0], cell[1])
    if len(mass) == 1 and 0 < mass[0] <= 100:
        chosen["mass"] = mass[0]
    drawn = tuple(head for head in _numbers(texts.get("heads")) if head < attention.n_heads)
    if drawn or texts.get("heads") == "none":
        chosen["heads"] = drawn
    locked = _numbers(texts.get("locked"))
    if len(locked) == 2:
        chosen["locked"] = (locked[0], locked[1])
    return _possible(replace(default, attention=attention.name, **chosen), run, attention)


def _possible(choice: Choice, run: ViewerRun, attention: AttentionView) -> Choice:
    """The nearest choice whose parts are compatible; `possible` in choice.js does the same."""
    n_queries, n_keys = attention.allowed.shape
    cell, locked = choice.cell, choice.locked
    return replace(
        choice,
        layer=min(choice.layer, attention.n_layers - 1),
        head=min(choice.head, attention.n_heads - 1),
        cell=cell if cell and cell[0] < n_queries and cell[1] < n_keys else None,
        by=choice.by if choice.measure in ADDITIVE else "token",
        locked=locked if locked and locked[0] < 2 and locked[1] < run.longest else None,
    )


def _options(run: ViewerRun, attention: AttentionView) -> dict[str, Sequence[str]]:
    """The possible values of each named part of a choice."""
    sides = run.sides[attention.queries], run.sides[attention.keys]
    has_words = all(side.words for side in sides) and any(
        side.words and len(side.words.labels) != len(side.tokens) for side in sides
    )
    heads = range(attention.n_heads) if attention.n_heads > 1 else ()
    needed = {"scores": "scores", "masked": "scores", "moved": "lengths"}
    return {
        "measure": [name for name in MEASURES if name == "weights" or needed[name] in attention.has],
        "by": ("token", "word") if has_words else ("token",),
        "rows": ("read", "written"),
        "special": ("keep", "hide", "spread"),
        "families": ("one", "all"),
        "against": ("", *run.others, *(f"head {head}" for head in heads)),
        "sort": [name for name in SORTS if _tells_apart(name, run, attention)],
    }


def _tells_apart(sort: str, run: ViewerRun, attention: AttentionView) -> bool:
    """True if heads can differ in this sort key."""
    if attention.n_layers * attention.n_heads < 2:
        return sort == "layer"
    match sort:
        case "cost":
            return attention.costs is not None
        case "distance":
            return attention.queries == attention.keys
        case "special":
            return bool(run.sides[attention.keys].special)
    return True


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case [] | ():
            return "none"
        case list() | tuple():
            return ",".join(map(str, value))
    return str(value)


def _numbers(text: str | None) -> list[int]:
    """The whole numbers in a comma-separated list; empty if it contains anything else."""
    parts = (text or "").split(",")
    are_numbers = all(part.isdecimal() and len(part) <= _MAX_DIGITS for part in parts)
    return [int(part) for part in parts] if are_numbers else []
