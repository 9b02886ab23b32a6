"""The whole app in a test, without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

ROOT = Path(__file__).resolve().parents[2]
TERM = re.compile(r'\[([^\]]+)\]\(#lesson-[\w-]+ ".*?"\)')
PAGES = ("explore", "step_by_step", "decode", "why", "positions", "masks", "layer_norm", "lab", "learn")
HOSTILE = {
    "empty": "",
    "blank": "   \t ",
    "punctuation": "... !?",
    "100,000 characters": "raccoon " * 12_500,
    "one endless word": "a" * 100_000,
    "emoji": "i saw a 🦝 👩‍👩‍👧‍👦 yesterday",
    "right to left": "i saw \u202eraccoon\u202c שלום مرحبا",
    "zero width": "rac\u200bcoon \u200d\u2060 cat",
    "control": "cat\x00\x07\x1b[31m dog",
    "script": "<script>alert(1)</script>",
    "bold": "<b>cat</b>",
    "formula": "$x$ and $$\\frac{1}{0}$$",
    "directive": ":red[a] :material/home: :smile:",
    "remote picture": "![](http://example.com/x.png)",
    "repeated": "the the the the the the",
    "number": "2024",
    "special tokens": "<pad> <bos> <eos> <unk>",
    "spreadsheet formula": "=1+1 @cat +dog",
}


def open_app(page: str = "explore", *, model: str | None = "toy-en-it", **address: str) -> AppTest:
    """The app as a browser would open it, with these query parameters; None leaves out the model."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in address.items():
        app.query_params[key] = value
    if model is not None:
        app.query_params["model"] = model
    if page != "explore":
        # Before its first run AppTest derives the address from the file name, which all pages share.
        app._page_hash = calc_hash(page.replace("_", "-"))
    return app.run()


def each_section(app: AppTest) -> Iterator[str]:
    """Choose each section of a page in turn, and return its name; "" for a page without sections."""
    menu = next((picker for picker in app.button_group if picker.key == "section"), None)
    if menu is None:
        yield ""
        return
    for name in menu.options:
        app.button_group(key="section").set_value(name).run()
        assert not app.exception, name
        yield name


def texts(app: AppTest) -> str:
    """All text that the page shows outside its views, without the explanations of terms."""
    kinds = ("title", "subheader", "markdown", "caption", "text", "warning", "latex")
    shown = "\n".join(str(getattr(element, "value", "")) for kind in kinds for element in app.get(kind))
    return TERM.sub(r"\1", shown)


def press(app: AppTest, label: str) -> None:
    """Press the first button with this label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def buttons(app: AppTest) -> list[str]:
    """The labels of the buttons."""
    return [button.label for button in app.button]
