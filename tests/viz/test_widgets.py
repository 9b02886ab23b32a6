"""Picker keys are unique: no page uses a key of another page, or one that several pages share."""

from __future__ import annotations

import ast
from itertools import combinations
from pathlib import Path

from viz import session, text_session, widgets
from viz.pages.shared.attention_view import key_of
from viz.viewer.choice import NAMES

PAGES = Path(__file__).resolve().parents[2] / "viz" / "pages"
NAMING = ("set_choice", "clamp_choice", "forget_choice", "follow_default", "remembered")
"""Functions whose first argument is a key."""
SHARED = {
    *("query", session.MODEL, text_session.SYMBOLS, *text_session.WORDS, *text_session.IDS),
    *(widgets.HEAD.layer_key, widgets.HEAD.head_key),
}


def named_keys(path: Path) -> set[str]:
    """The keys that a module gives as string literals."""
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg == "key"]
            if isinstance(node.func, ast.Name) and node.func.id in NAMING:
                found += node.args[:1]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "st.session_state":
            found.append(node.slice)
    return {str(key.value) for key in found if isinstance(key, ast.Constant)}


def viewer_keys(path: Path) -> set[str]:
    """The keys under which a module's viewers store what is chosen in them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    words = [call.keywords for call in calls if ast.unparse(call.func) == "viewer"]
    prefixes = {
        next((constant(word.value, tree) for word in own if word.arg == "prefix"), "") for own in words
    }
    return {key_of(prefix, name) for prefix in prefixes for name in NAMES}


def constant(value: ast.expr, tree: ast.Module) -> str:
    """The value of a string literal or of one of the module's constants."""
    if isinstance(value, ast.Name):
        value = next(
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == value.id
        )
    assert isinstance(value, ast.Constant)
    return str(value.value)


def test_no_page_names_a_picker_of_another() -> None:
    owners = {"several pages": SHARED, "the sidebar": named_keys(PAGES / "sidebar.py")}
    for folder in PAGES.iterdir():
        if any(folder.glob("*.py")):
            owners[folder.name] = {key for path in folder.glob("*.py") for key in named_keys(path)}
    assert len(owners) == 2 + 13 + 1, "thirteen pages, and what they share"
    for page in ("explore", "decode", "training"):
        keys = {key for path in (PAGES / page).glob("*.py") for key in viewer_keys(path)}
        assert keys, f"{page} has a viewer"
        owners[f"the viewers of {page}"] = keys - {widgets.HEAD.layer_key, widgets.HEAD.head_key}
    for one, other in combinations(owners, 2):
        assert not owners[one] & owners[other], f"{one} and {other}"


def test_explore_s_viewer_and_the_lists_of_other_pages_go_along_with_each_other() -> None:
    keys = viewer_keys(PAGES / "explore" / "attention.py")
    assert {widgets.HEAD.layer_key, widgets.HEAD.head_key} <= keys
