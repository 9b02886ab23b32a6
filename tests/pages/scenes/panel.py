"""The panel of scenes in a test: what it was given, and a user who keeps scenes with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import viz.pages.scenes.panel as panel_of_the_app
from viz.components.scenes import scenes_panel
from viz.scenes import Scene, scene_of


class Panel:
    """A stand-in for the panel in the browser."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.options: dict[str, Any] = {}
        self.told: list[tuple[str, object]] = []
        draw = scenes_panel

        def drawn(scenes: list[dict[str, Any]], **options: Any) -> None:
            told, self.told = self.told, []
            for name, value in told:
                call: Callable[[object], None] = options[name]
                call(value)
            self.options = {"scenes": scenes, **options}
            draw(scenes, **options)

        monkeypatch.setattr(panel_of_the_app, "scenes_panel", drawn)

    def tell(self, app: AppTest, name: str, value: object) -> None:
        """Report something as the browser does, and make the run that follows."""
        self.told.append((name, value))
        app.run()
        app.run()
        assert not app.exception

    def keep(self, app: AppTest, caption: str = "", **told: object) -> None:
        """Keep what the app shows as a scene."""
        self.tell(app, "on_keep", {"caption": caption, **told})

    @property
    def scenes(self) -> list[Scene]:
        """The scenes that have been kept."""
        return [scene_of(told["scene"]) for told in self.options["scenes"]]
