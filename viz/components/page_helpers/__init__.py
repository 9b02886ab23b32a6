"""What every page needs of the browser: a history by visits, links that are not lost, and two repairs."""

from __future__ import annotations

from viz.components.shared.scripts import component

_renderer = component("page_helpers")


def page_helpers(key: str) -> None:
    """Put them into the document; draws nothing itself.

    - Back and Forward go from visit to visit, and no click overtakes a page link (``navigation.js``).
    - Each formula that scrolls is a stop of the Tab key (``formula_stops.js``).
    - What was typed in the moment in which a fragment was run is not lost: the whole page is run.
    - Half a character, which a broken paste leaves, becomes U+FFFD (``whole_characters.js``).

    To be drawn on every page, before anything that writes to the address.
    """
    _renderer(key=key, on_run_all_change=lambda: None)
