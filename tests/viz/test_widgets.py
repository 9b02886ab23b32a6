"""Pickers have one key each: no page names another page's, nor one that several pages have."""

from __future__ import annotations

import ast
from itertools import combinations
from pathlib import Path

from viz import session, text_session, widgets

PAGES = Path(__file__).resolve().parents[2] / "viz" / "pages"
NAMING = ("set_choice", "clamp_choice", "forget_choice", "follow_default", "remembered")
"""Functions whose first argument is a key."""
SHARED = {
    *("attention", "query", session.MODEL, text_session.SYMBOLS, *text_session.WORDS, *text_session.NUMBERS),
    *(
        key
        for picker in (widgets.HEAD, widgets.WATCHED_HEAD, widgets.FORCING_HEAD)
        for key in (picker.layer_key, picker.head_key)
    ),
}


def named_keys(path: Path) -> set[str]:
    """The keys that a module names as such, in bare words."""
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg == "key"]
            if isinstance(node.func, ast.Name) and node.func.id in NAMING:
                found += node.args[:1]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "st.session_state":
            found.append(node.slice)
    return {str(key.value) for key in found if isinstance(key, ast.Constant)}


def test_no_page_names_a_picker_of_another() -> None:
    owners = {"several pages": SHARED, "the sidebar": named_keys(PAGES / "sidebar.py")}
    for folder in PAGES.iterdir():
        if any(folder.glob("*.py")):
            owners[folder.name] = {key for path in folder.glob("*.py") for key in named_keys(path)}
    assert len(owners) == 2 + 7 + 1, "seven pages, and what they share"
    for one, other in combinations(owners, 2):
        assert not owners[one] & owners[other], f"{one} and {other}"
