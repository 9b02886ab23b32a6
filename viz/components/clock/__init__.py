"""The clock of a fragment that shows something that changes by itself."""

from __future__ import annotations

from viz.components.shared.scripts import component

_renderer = component("clock")


def clock(seconds: float | None, *, key: str) -> None:
    """Run the fragment around it again every so many seconds; None stops it. Draws nothing.

    Each run of the fragment says again whether it continues, so none has to ask for a run of the whole page.
    """
    _renderer(key=key, data={"seconds": seconds}, on_tick_change=lambda: None)
