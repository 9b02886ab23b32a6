"""What is chosen in the viewer: it may come from a browser or an address, and a run may not allow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from transformer.analysis.attention_maps import Attention
from viz.viewer.held_run import Family, HeldRun

VIEWS = ("head", "layer", "map", "token")
"""Looks at a head, at all heads of its layer, at their lines, at every head from one token."""
MEASURES = ("weights", "scores", "masked", "moved")
"""What a cell can show: weight, score before the mask or after it, the length of the vector it moves."""
ADDING = ("weights", "moved")
"""Of these the numbers of parts add up, so that words can stand for their sub-words."""
SORTS = ("layer", "entropy", "distance", "special", "sharpness", "diagonal")
"""What the grid of heads can be ordered by."""
_LONGEST = 9
"""Digits of a whole number."""


@dataclass(frozen=True)
class Choice:
    """What is chosen of a run.

    Attributes:
        view: one of `VIEWS`.
        attention: the name of a family.
        layer, head: of that family.
        cell: the positions of a query and of a key; None: the strongest of the head.
        measure: one of `MEASURES`.
        by: what a row and a column is: "token" or "word".
        rows: which token a decoder's row is called by: the one that is "read" or "written" there.
        special: whether to "keep" special tokens and punctuation, to "hide" them, or to hide them and
            "spread" their weight over the rest.
        against: what the head is compared with: "", the name of another run, or "head 3".
        mass: percent of each row's attention that lines show.
        heads: the heads that lines are drawn of; None for all.
        families: whether the map has the chosen attention only, "one", or "all" of the run.
        locked: the token that is held in the map: its column, 0 or 1, and its position; None for none.
        sort: one of `SORTS`.
    """

    attention: Attention
    layer: int
    head: int = 0
    view: str = "head"
    cell: tuple[int, int] | None = None
    measure: str = "weights"
    by: str = "token"
    rows: str = "read"
    special: str = "keep"
    against: str = ""
    mass: int = 90
    heads: tuple[int, ...] | None = None
    families: str = "all"
    locked: tuple[int, int] | None = None
    sort: str = "layer"

    def data(self) -> dict[str, Any]:
        """The choice as JSON has it."""
        return asdict(self)

    def written(self) -> dict[str, str]:
        """The choice as texts, as an address has it."""
        return {name: _text(value) for name, value in asdict(self).items()}


NAMES = tuple(Choice.__dataclass_fields__)
"""Of what is chosen, in the order of the fields."""


def first_choice(held: HeldRun) -> Choice:
    """Choose where nobody has: the last layer of the cross-attention, where it is clearest."""
    family = held.families.get("cross") or next(iter(held.families.values()))
    return Choice(family.name, family.n_layers - 1)


def read_choice(
    texts: Mapping[str, Any], held: HeldRun, first: Choice | None = None, views: Sequence[str] = VIEWS
) -> Choice:
    """Read a choice as a browser or an address has it; what the run does not allow is as in the first choice.

    Args:
        texts: as `Choice.data` or `Choice.written` has them; those that are missing are as in the first.
        held: the run.
        first: what is chosen where nobody has chosen; that of `first_choice` without one.
        views: those that are offered.
    """
    first = first or first_choice(held)
    told = {name: _text(texts[name]) for name in NAMES if name in texts}
    family = next(
        (own for own in held.families.values() if own.name == told.get("attention")),
        held.families[first.attention],
    )
    chosen: dict[str, Any] = {
        name: told[name]
        for name, allowed in ({"view": views} | _options(held, family)).items()
        if name in told and told[name] in allowed
    }
    layers, heads = _numbers(told.get("layer")), _numbers(told.get("head"))
    cell, mass = _numbers(told.get("cell")), _numbers(told.get("mass"))
    if len(layers) == 1:
        chosen["layer"] = layers[0]
    if len(heads) == 1:
        chosen["head"] = heads[0]
    if len(cell) == 2 and cell[0] < family.allowed.shape[0] and cell[1] < family.allowed.shape[1]:
        chosen["cell"] = (cell[0], cell[1])
    if len(mass) == 1 and 0 < mass[0] <= 100:
        chosen["mass"] = mass[0]
    shown = tuple(head for head in _numbers(told.get("heads")) if head < family.n_heads)
    if shown or told.get("heads") == "none":
        chosen["heads"] = shown
    locked = _numbers(told.get("locked"))
    if len(locked) == 2:
        chosen["locked"] = (locked[0], locked[1])
    return _possible(replace(first, attention=family.name, **chosen), held, family)


def _possible(choice: Choice, held: HeldRun, family: Family) -> Choice:
    """The nearest choice whose parts go together, as `possible` in choice.js has it."""
    n_queries, n_keys = family.allowed.shape
    cell, locked = choice.cell, choice.locked
    most = max(len(side.tokens) for side in held.sides.values())
    return replace(
        choice,
        layer=min(choice.layer, family.n_layers - 1),
        head=min(choice.head, family.n_heads - 1),
        cell=cell if cell and cell[0] < n_queries and cell[1] < n_keys else None,
        by=choice.by if choice.measure in ADDING else "token",
        locked=locked if locked and locked[0] < 2 and locked[1] < most else None,
    )


def _options(held: HeldRun, family: Family) -> dict[str, Sequence[str]]:
    """The names that a choice may have."""
    sides = held.sides[family.queries], held.sides[family.keys]
    has_words = all(side.words for side in sides) and any(
        side.words and len(side.words.labels) != len(side.tokens) for side in sides
    )
    return {
        "measure": _measures_of(family),
        "by": ("token", "word") if has_words else ("token",),
        "rows": ("read", "written") if sides[0].written else ("read",),
        "special": ("keep", "hide", "spread"),
        "families": ("one", "all"),
        "against": (
            "",
            *held.others,
            *(f"head {head}" for head in range(family.n_heads) if family.n_heads > 1),
        ),
        "sort": [name for name in SORTS if _tells_apart(name, held, family)],
    }


def _measures_of(family: Family) -> list[str]:
    """What a cell of an attention can show."""
    has = family.has
    needed = {
        "weights": True,
        "scores": "scores" in has,
        "masked": "scores" in has,
        "moved": "lengths" in has,
    }
    return [measure for measure in MEASURES if needed[measure]]


def _tells_apart(sort: str, held: HeldRun, family: Family) -> bool:
    """Whether an order of heads has a meaning for a family."""
    if family.n_layers * family.n_heads < 2:
        return sort == "layer"
    match sort:
        case "distance":
            return family.queries == family.keys
        case "special":
            return bool(held.sides[family.keys].special)
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


def _numbers(written: str | None) -> list[int]:
    """The whole numbers that a text consists of; none if it is anything else."""
    parts = (written or "").split(",")
    return [int(part) for part in parts] if all(p.isdecimal() and len(p) <= _LONGEST for p in parts) else []
