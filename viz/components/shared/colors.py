"""The colours a client-side view draws with. They travel as data: the app's theme has them."""

from __future__ import annotations

from typing import Any, Protocol


class CellColors(Protocol):
    """The colours of one look, each as ``#rrggbb`` (a view interpolates them). ``viz.theme.Theme`` is one."""

    @property
    def sequential(self) -> tuple[str, ...]:
        """Evenly spaced stops from the smallest to the largest value."""

    @property
    def diverging(self) -> tuple[str, ...]:
        """An odd number of evenly spaced stops: most negative, 0 in the middle, most positive."""

    @property
    def categorical(self) -> tuple[str, ...]:
        """One colour per head, colour-blind safe; they start again when there are more heads."""

    @property
    def masked(self) -> str:
        """The fill of a closed cell."""

    @property
    def hatch(self) -> str:
        """The stripes drawn over a closed cell."""

    @property
    def text(self) -> str:
        """Text, on ``background`` and on ``surface``."""

    @property
    def muted(self) -> str:
        """Secondary text, such as positions; still readable."""

    @property
    def background(self) -> str:
        """The page."""

    @property
    def surface(self) -> str:
        """The fill of chips, buttons and tooltips."""

    @property
    def grid(self) -> str:
        """Borders and hairlines."""

    @property
    def accent(self) -> str:
        """The outline of what is selected."""


_SCALES = ("sequential", "diverging", "categorical")
_SINGLE = ("masked", "hatch", "text", "muted", "background", "surface", "grid", "accent")


def color_data(colors: CellColors) -> dict[str, Any]:
    """Return the colours as JSON-serialisable data, under their names."""
    scales: dict[str, Any] = {name: list(getattr(colors, name)) for name in _SCALES}
    return scales | {name: getattr(colors, name) for name in _SINGLE}
