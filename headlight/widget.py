"""The viewer as a notebook widget: Jupyter, VS Code, Colab, marimo."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from anywidget import AnyWidget
from traitlets import Bytes, Dict, validate

from headlight.runs import check_index
from viz.components.shared.frame import color_data
from viz.theme import PALETTES, palette
from viz.viewer.choice import MEASURES, NAMES, SORTS, VIEWS, Choice, default_choice, read_choice
from viz.viewer.frames import chosen_pieces, comes_at_once, run_frame, update_frame, weight_pieces
from viz.viewer.still import still_table
from viz.viewer.viewer_run import ViewerRun

Look: TypeAlias = Literal["auto", "light", "dark"]
View: TypeAlias = Literal["head", "layer", "map", "token"]
"""One head, all heads of its layer, their lines, or every head from one token."""

_NAMED = {"view": VIEWS, "measure": MEASURES, "sort": SORTS}
"""The options listed in an error message for a wrong choice."""
AT_ONCE = 256_000
"""Up to this many bytes, a notebook gets all attention weights at once."""
MOST_PIECES = 8
"""Most pieces that a browser may request in one message."""


class AttentionWidget(AnyWidget):
    """All attention of a run, interactively; displayed as the last line of a notebook cell.

    Attributes:
        choice: the current choice, made by the user or by `choose`: a dict of "attention", "layer", "head",
            "cell" (the positions of a query and a key; None for the strongest) and the other names that
            `choose` takes. ``widget.observe(function, "choice")`` calls a function with every change.
    """

    _esm = (files("headlight") / "browser" / "attention.js").read_text(encoding="utf-8")
    frame = Bytes().tag(sync=True)
    choice = Dict().tag(sync=True)

    def __init__(self, run: ViewerRun, name: str, look: Look, chosen: Mapping[str, Any]) -> None:
        self._run = run
        self._name = name
        self._theme = palette("light" if look == "auto" else look)
        palettes = {known: color_data(theme) for known, theme in PALETTES.items()}
        options: dict[str, Any] = {"palettes": palettes} if look == "auto" else {}
        given = {name: value for name, value in chosen.items() if value is not None}
        choice = changed(run, default_choice(run), given)
        frame = run_frame(run, self._theme, pieces=_first_pieces(run, choice), **options)
        super().__init__(frame=frame, choice=choice.data())
        self.on_msg(AttentionWidget._answer)

    def choose(self, **choice: Any) -> None:
        """Change the choice, as a user would: ``widget.choose(layer=2, head=1, cell=(3, 5))``.

        Args:
            choice: any of attention, layer, head, cell, view ("head", "layer", "map", "token"), measure
                ("weights", "scores", "masked", "moved"), by ("token", "word"), rows ("read", "written"),
                special ("keep", "hide", "spread"), against (the name of another run, or "head 3"), mass,
                heads, families ("one", "all"), locked (a token of the map: column and position) and sort.

        Raises:
            TypeError: a choice has no such field.
            ValueError: the run has no such value.
        """
        self.choice = changed(self._run, read_choice(self.choice, self._run), choice).data()

    def __repr__(self) -> str:
        attention = self._run.attentions[self.choice["attention"]]
        where = f"{attention.label}, layer {self.choice['layer']}, head {self.choice['head']}"
        return f"<AttentionWidget of {self._name}: {where}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        still = still_table(self._run, read_choice(self.choice, self._run), self._theme)
        return {**data, "text/html": still}, metadata

    @validate("choice")
    def _possible(self, proposal: Mapping[str, Any]) -> dict[str, Any]:
        """Correct a choice sent by a browser to one that the run allows."""
        return read_choice({**self.choice, **proposal["value"]}, self._run).data()

    def _answer(self, content: Any, _buffers: object) -> None:
        """Send the pieces that a browser requests."""
        names = content.get("fetch") if isinstance(content, dict) else None
        if not isinstance(names, list):
            return
        known = [name for name in names if isinstance(name, str)][:MOST_PIECES]
        # Without the choice, which may meanwhile have changed in the browser.
        self.send({}, [update_frame(self._run, None, known)])


def _first_pieces(run: ViewerRun, choice: Choice) -> list[str]:
    """The pieces needed to draw everything once.

    Few, because notebooks keep every widget that they have shown in memory, and some save it in their file.
    """
    return weight_pieces(run) if comes_at_once(run, AT_ONCE) else chosen_pieces(choice)


def changed(run: ViewerRun, before: Choice, changes: Mapping[str, Any]) -> Choice:
    """Change a choice, rejecting values that `read_choice` would correct.

    Raises:
        TypeError: a choice has no such field.
        ValueError: the run has no such value; the message lists those that it has.
    """
    for name in changes:
        if name not in NAMES:
            raise TypeError(f"There is no choice {name!r}: there are {', '.join(NAMES)}.")
    attention = changes.get("attention", before.attention)
    if attention not in run.attentions:
        there = ", ".join(map(repr, run.attentions))
        raise ValueError(f"There is no attention {attention!r}: choose one of {there}.")
    view = run.attentions[attention]
    where = f"the {view.label.lower()}"
    for name, count in (("layer", view.n_layers), ("head", view.n_heads)):
        if name in changes:
            check_index(name, changes[name], count, where)
    after = read_choice({**before.data(), **changes}, run)
    for name, value in changes.items():
        if getattr(after, name) != (tuple(value) if isinstance(value, list) else value):
            there = ", ".join(map(repr, _NAMED.get(name, ())))
            raise ValueError(
                f"There is no {name} {value!r} in {where}" + (f": choose one of {there}." if there else ".")
            )
    return after
