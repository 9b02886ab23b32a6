"""What every page needs of the browser: a history by visits, links that are not lost, terms explained."""

from __future__ import annotations

from viz.components.shared.scripts import component

_renderer = component("page_helpers")


def page_helpers(key: str) -> str:
    """Put them into the document; draws nothing itself.

    Returns the lesson that was asked for, by a click on a term; "" for none. It may be any text.

    - Back and Forward go from visit to visit, and no click overtakes a page link (``navigation.js``).
    - Each formula that scrolls is a stop of the Tab key (``formula_stops.js``).
    - Each term's explanation appears beside it (``terms.js``), and the keys step through a lesson.
    - Half a character, which a broken paste leaves, becomes U+FFFD (``whole_characters.js``).

    To be drawn on every page, before anything that writes to the address.
    """
    lesson = _renderer(key=key, on_lesson_change=lambda: None).lesson
    return lesson if isinstance(lesson, str) else ""
