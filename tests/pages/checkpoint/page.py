"""The Checkpoint page in a test: what a user does and sees there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.app import buttons, open_app, press
from tests.pages.views import Views

PATH, UPLOAD = "A path on this machine", "Upload"
OPENED = "your checkpoint"


def start(where: str | None = None, **address: str) -> AppTest:
    """The page with one way of opening chosen and no checkpoint open.

    Streamlit treats the apps of all tests as one user, who may have left something open.
    """
    app = open_app("checkpoint", **address)
    if where is not None:
        app.button_group(key="checkpoint_from").set_value(where).run()
        if "Close it" in buttons(app):
            press(app, "Close it")
    assert not app.exception
    return app


def open_path(app: AppTest, path: Path | str) -> None:
    app.text_input(key="checkpoint_path").set_value(str(path))
    press(app, "Open it")


def opened(path: Path) -> AppTest:
    app = start(PATH)
    open_path(app, path)
    return app


def upload(app: AppTest, *paths: Path) -> None:
    files = [(path.name, path.read_bytes(), "application/octet-stream") for path in paths]
    app.file_uploader(key="checkpoint_upload").set_value(files)
    press(app, "Open it")


def questions(app: AppTest) -> dict[str, Any]:
    """The open questions by name, as the page displays it."""
    return {select.label.replace("\\", ""): select for select in app.selectbox}


def models(app: AppTest) -> list[str]:
    return list(app.radio(key="model").options)


def table(app: AppTest, column: str) -> Any:
    """The table that has this column."""
    return next(element.value for element in app.dataframe if column in element.value.columns)


def titles(views: Views, severity: str) -> list[str]:
    found = views.data("findings")["findings"]
    return [finding["title"] for finding in found if finding["severity"] == severity]
