"""The client-side views of a page in a test: what each was given, and a user who selects in them."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from tests.viz.mounted import unpack_frame
from viz.components.shared.client_view import ClientView


class Views:
    """Stands for the browser: what each view was given, and a user who selects something in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.frames: dict[str, bytes] = {}
        self.selections: dict[str, object] = {}
        mount, show = ClientView.mount, ClientView.show

        def mounted(view: ClientView, frame: bytes, **options: Any) -> object:
            self.frames[str(options["key"])] = frame
            on_select = options["on_select"]
            selection = self.selections.pop(str(options["key"]), None)
            if selection is not None and callable(on_select):
                on_select(selection)
            return mount(view, frame, **options)

        def shown(view: ClientView, frame: bytes, **options: Any) -> None:
            self.frames[str(options["key"])] = frame
            show(view, frame, **options)

        monkeypatch.setattr(ClientView, "mount", mounted)
        monkeypatch.setattr(ClientView, "show", shown)

    def data(self, key: str) -> dict[str, Any]:
        """What a view was given, without its arrays."""
        return unpack_frame(self.frames[key])[0]

    def array(self, key: str, name: str) -> NDArray[Any]:
        """An array that a view was given."""
        return unpack_frame(self.frames[key])[1][name]

    def select(self, app: AppTest, key: str, selection: object) -> None:
        """Select something in a view; the page then runs as after a click."""
        self.selections[key] = selection
        app.run()
        app.run()
