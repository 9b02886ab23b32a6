"""A page's client-side views in a test: their data, and a user who selects in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from tests.viz.mounted import unpack_frame
from viz.components.attention import attention
from viz.components.shared.client_view import JSON, ClientView


class Views:
    """A stand-in for the browser: what each view was given, and a user who selects something in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.frames: dict[str, bytes] = {}
        self.updates: dict[str, bytes] = {}
        self.held: dict[str, dict[str, NDArray[Any]]] = {}
        self._selections: dict[str, object] = {}
        self._told: dict[str, dict[str, object]] = {}
        mount, show = ClientView.mount, ClientView.show

        def mounted(view: ClientView, frame: bytes, **options: Any) -> object:
            key = str(options["key"])
            self.frames[key] = frame
            on_select = options["on_select"]
            selection = self._selections.pop(key, None)
            if selection is not None and callable(on_select):
                on_select(selection)
            return mount(view, frame, **options)

        def shown(view: ClientView, frame: bytes, **options: Any) -> None:
            self.frames[str(options["key"])] = frame
            show(view, frame, **options)

        def viewed(
            frame: bytes,
            update: Callable[[], bytes],
            *,
            key: str,
            on_choose: Callable[[JSON], None],
            on_fetch: Callable[[JSON], None],
        ) -> None:
            packed = update()
            self._receive(key, frame, packed)
            for name, value in self._told.pop(key, {}).items():
                {"choose": on_choose, "fetch": on_fetch}[name](value)
            attention(frame, lambda: packed, key=key, on_choose=on_choose, on_fetch=on_fetch)

        monkeypatch.setattr(ClientView, "mount", mounted)
        monkeypatch.setattr(ClientView, "show", shown)
        monkeypatch.setattr("viz.pages.shared.attention_view.attention", viewed)

    def _receive(self, key: str, frame: bytes, update: bytes) -> None:
        """Store what a viewer is given; for a new run, drop the arrays of the earlier one."""
        data, arrays = unpack_frame(frame)
        if key not in self.frames or self.data(key)["run"] != data["run"]:
            self.held[key] = arrays
        self.frames[key], self.updates[key] = frame, update
        told, pieces = unpack_frame(update)
        assert (told["run"], key) == (data["run"], data["channel"]), "or it would be ignored"
        self.held[key] |= pieces

    def data(self, key: str) -> dict[str, Any]:
        """A view's data, without its arrays."""
        return unpack_frame(self.frames[key])[0]

    def array(self, key: str, name: str) -> NDArray[Any]:
        """An array that a view was given; for a viewer, one of those it has been given of its run."""
        return self.held[key][name] if key in self.held else unpack_frame(self.frames[key])[1][name]

    def choice(self, key: str) -> dict[str, Any]:
        """The choice last sent to a viewer."""
        choice: dict[str, Any] = unpack_frame(self.updates[key])[0]["choice"]
        return choice

    def easiest(self, key: str, attention: str = "cross") -> tuple[int, int]:
        """The layer and head that a viewer shows before the user chooses any."""
        shown = next(one for one in self.data(key)["attentions"] if one["name"] == attention)
        layer, head = shown["easiest"]
        return layer, head

    def output(self, key: str = "viewer") -> str:
        """The output that a viewer shows."""
        data = self.data(key)
        return str(data["output"]["before"]) + "".join(data["sides"]["decoder"]["spelled"])

    def pieces(self, key: str) -> list[str]:
        """The pieces in a viewer's last update."""
        pieces: list[str] = unpack_frame(self.updates[key])[0]["pieces"]
        return pieces

    def select(self, app: AppTest, key: str, selection: object) -> None:
        """Select something in a view; the page then runs as after a click."""
        self._selections[key] = selection
        _run_twice(app)

    def choose(self, app: AppTest, key: str, **changed: Any) -> None:
        """Choose something in a viewer, which reports its whole choice."""
        self.tell(app, key, choose=self.choice(key) | changed)

    def fetch(self, app: AppTest, key: str, names: list[str]) -> None:
        """Make a viewer request pieces of its run."""
        self.tell(app, key, fetch=names)

    def tell(self, app: AppTest, key: str, **told: object) -> None:
        """Send a report of a viewer, or a forged one: "choose" or "fetch"."""
        self._told[key] = told
        _run_twice(app)


def _run_twice(app: AppTest) -> None:
    """Run once for the user's action on the current page, and once for the page that results."""
    app.run()
    app._page_hash = ""  # the page that the run led to, not the one that was opened
    app.run()
    assert not app.exception
