"""The viewer as a widget of a notebook: Jupyter, VS Code, Colab, marimo."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import numpy as np
from anywidget import AnyWidget
from traitlets import Bytes, Dict, validate

from headlight.runs import check_index
from viz.components.shared.frame import color_data
from viz.theme import PALETTES, palette
from viz.viewer.choice import MEASURES, NAMES, SORTS, VIEWS, Choice, first_choice, read_choice
from viz.viewer.frames import all_weights, chosen_pieces, is_whole, run_frame, update_frame
from viz.viewer.held_run import HeldRun
from viz.viewer.still import still_table

Look: TypeAlias = Literal["auto", "light", "dark"]
View: TypeAlias = Literal["head", "layer", "map", "token"]
"""One head, all heads of its layer, their lines, or every head from one token."""

_NAMED = {"view": VIEWS, "measure": MEASURES, "sort": SORTS}
"""What there may be to choose from, to be told to who chose something else."""
AT_ONCE = 256_000
"""Bytes of attention weights up to which a notebook gets all of them at once."""
MOST_PIECES = 8
"""Pieces that one message of a browser may ask for."""


class AttentionWidget(AnyWidget):
    """All attention of a run, to click through; in a notebook the last line of a cell is shown.

    Attributes:
        choice: what is chosen, by the user or by `choose`: a dict of "attention", "layer", "head", "cell"
            (the positions of a query and of a key; None for the strongest) and what else `choose` takes.
            ``widget.observe(function, "choice")`` calls a function with every change.
    """

    _esm = (files("headlight") / "browser" / "attention.js").read_text(encoding="utf-8")
    frame = Bytes().tag(sync=True)
    choice = Dict().tag(sync=True)

    def __init__(self, held: HeldRun, name: str, look: Look, chosen: Mapping[str, Any]) -> None:
        self._held = held
        self._name = name
        self._theme = palette("light" if look == "auto" else look)
        palettes = {known: color_data(theme) for known, theme in PALETTES.items()}
        options: dict[str, Any] = {"palettes": palettes} if look == "auto" else {}
        given = {name: value for name, value in chosen.items() if value is not None}
        choice = changed(held, first_choice(held), given)
        frame = run_frame(held, self._theme, pieces=_begin_with(held, choice), **options)
        super().__init__(frame=frame, choice=choice.data())
        self.on_msg(AttentionWidget._answer)

    def choose(self, **choice: Any) -> None:
        """Choose something else, as a user would: ``widget.choose(layer=2, head=1, cell=(3, 5))``.

        Args:
            choice: any of attention, layer, head, cell, view ("head", "layer", "map", "token"), measure
                ("weights", "scores", "masked", "moved"), by ("token", "word"), rows ("read", "written"),
                special ("keep", "hide", "spread"), against (the name of another run, or "head 3"), mass,
                heads, families ("one", "all"), locked (a token of the map: column and position) and sort.

        Raises:
            TypeError: for another name.
            ValueError: for what the run does not have.
        """
        self.choice = changed(self._held, read_choice(self.choice, self._held), choice).data()

    def __repr__(self) -> str:
        family = self._held.families[self.choice["attention"]]
        where = f"{family.label}, layer {self.choice['layer']}, head {self.choice['head']}"
        return f"<AttentionWidget of {self._name}: {where}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        still = still_table(self._held, read_choice(self.choice, self._held), self._theme)
        return {**data, "text/html": still}, metadata

    @validate("choice")
    def _possible(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """A browser may send anything: keep what the run allows."""
        return read_choice({**self.choice, **proposal["value"]}, self._held).data()

    def _answer(self, content: Any, _buffers: object) -> None:
        """Send the pieces that a browser asks for."""
        names = content.get("fetch") if isinstance(content, dict) else None
        if not isinstance(names, list):
            return
        known = [name for name in names if isinstance(name, str)][:MOST_PIECES]
        # Without the choice: the browser may have made another one meanwhile.
        self.send({}, [update_frame(self._held, None, known)])


def _begin_with(held: HeldRun, choice: Choice) -> list[str]:
    """The pieces with which everything can be painted at first.

    A notebook keeps each widget that it has shown in memory, and some keep it in their file.
    """
    sizes = [family.n_layers * family.n_heads * family.allowed.size for family in held.families.values()]
    is_small = np.dtype(np.float32).itemsize * sum(sizes) <= AT_ONCE
    return all_weights(held) if is_whole(held) and is_small else chosen_pieces(choice)


def changed(held: HeldRun, before: Choice, changes: Mapping[str, Any]) -> Choice:
    """Change a choice, strictly.

    Raises:
        TypeError: for a name that no choice has.
        ValueError: for what the run does not have; it says what it has.
    """
    for name in changes:
        if name not in NAMES:
            raise TypeError(f"There is no choice {name!r}: there are {', '.join(NAMES)}.")
    attention = changes.get("attention", before.attention)
    if attention not in held.families:
        there = ", ".join(map(repr, held.families))
        raise ValueError(f"There is no attention {attention!r}: choose one of {there}.")
    family = held.families[attention]
    where = f"the {family.label.lower()}"
    for name, count in (("layer", family.n_layers), ("head", family.n_heads)):
        if name in changes:
            check_index(name, changes[name], count, where)
    after = read_choice({**before.data(), **changes}, held)
    for name, value in changes.items():
        if getattr(after, name) != (tuple(value) if isinstance(value, list) else value):
            there = ", ".join(map(repr, _NAMED.get(name, ())))
            raise ValueError(
                f"There is no {name} {value!r} in {where}" + (f": choose one of {there}." if there else ".")
            )
    return after
