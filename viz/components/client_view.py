"""What every client-side view shares: its files, registered once, and how it mounts and reports a click."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import streamlit as st

Selection = TypeVar("Selection")
JSON: TypeAlias = Any
"""A value the browser sent: anything that JSON can hold."""

_FOLDER = Path(__file__).parent
_EVENT = "select"


def compact(source: str) -> str:
    """Drop indentation, blank lines and whole-line ``//`` comments.

    Streamlit sends a view's script at every update, so a third less of it is worth having. The scripts keep
    to what makes this safe: no string or template literal spans lines.
    """
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def index(value: JSON, length: int) -> int:
    """Take the value as a position below length.

    Raises:
        ValueError: for anything else; a browser may send what the view itself never would.
    """
    if type(value) is not int or not 0 <= value < length:
        raise ValueError(f"not a position below {length}: {value!r}")
    return value


class ClientView:
    """A view that runs in the browser: ``<name>.js`` and ``<name>.css`` behind the shared ones.

    What a person selects reaches Python as a trigger: it is there for one run and then gone. The view keeps
    its own zoom, scroll and hover, and draws itself anew in place whenever its data changes.
    """

    def __init__(self, name: str, parts: Sequence[str] = ()) -> None:
        """Register the view: once, at import.

        Args:
            name: the name of its files, without their suffix.
            parts: scripts of its own to put between the shared one and the view's.
        """
        self._renderer = st.components.v2.component(
            f"headlight_{name}",
            html=f'<div class="hl hl-{name}"></div>',
            css=_read("shared.css") + _read(f"{name}.css"),
            js=compact("".join(_read(file) for file in ("shared.js", *parts, f"{name}.js"))),
        )

    def show(self, frame: bytes, *, key: str) -> None:
        """Draw a view in which nothing can be selected; see ``mount``."""
        self._renderer(key=key, data=frame)

    def mount(
        self,
        frame: bytes,
        *,
        key: str,
        parse: Callable[[JSON], Selection],
        on_select: Callable[[Selection], None] | None = None,
    ) -> Selection | None:
        """Draw the view.

        Args:
            frame: its data, from ``pack_frame``.
            key: its identity on the page. With the same key it is redrawn in place.
            parse: makes a selection of the JSON value that the browser sent. What it refuses with a
                LookupError, TypeError or ValueError counts as no selection.
            on_select: called with the selection, before the run that the selection starts.

        Returns:
            What was selected just now; None in a run that something else started.
        """

        def report() -> None:
            # What a view sent last may come when the page has gone on without it.
            for selection in _selections(st.session_state.get(key, {}).get(_EVENT), parse):
                if on_select is not None:
                    on_select(selection)

        result = self._renderer(key=key, data=frame, on_select_change=report)
        return next(_selections(result.get(_EVENT), parse), None)


def _selections(value: JSON, parse: Callable[[JSON], Selection]) -> Iterator[Selection]:
    """Yield what was selected: nothing when nothing was, or when the browser sent something else."""
    if value is None:
        return
    try:
        selection = parse(value)
    except (LookupError, TypeError, ValueError):
        return
    yield selection


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
