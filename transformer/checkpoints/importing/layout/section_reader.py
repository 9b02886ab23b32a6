"""Checked access to the values in a layout's file; errors name the line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transformer.checkpoints.importing.layout.plain_yaml import Node
from transformer.errors import CheckpointError, shown

CONDITIONS = {
    **dict.fromkeys(("model_type", "has", "has_any", "lacks", "saved", "tall"), "texts"),
    **dict.fromkeys(("part_of_names", "no_part_of_names", "one_tensor"), "texts"),
    **dict.fromkeys(
        ("rows", "rows_over_columns", "says", "below_zero", "mean_below", "chosen", "sinusoids", "not"),
        "table",
    ),
    **dict.fromkeys(("has_config", "uncomputed_names"), "plain"),
    "any": "tables",
}
"""What a condition may need, see `conditions`, and of which kind."""

_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "texts": lambda value: all(isinstance(one, str) for one in _listed(value)),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "table": lambda value: isinstance(value, dict),
    "tables": lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
    "any": lambda value: True,
    "plain": lambda value: not any(isinstance(one, dict | list) for one in _listed(value)),
}
"""Kind of a value -> whether plain Python values are of it."""
_WORDS = {
    "text": "text",
    "texts": "text, or a list of texts",
    "number": "a number",
    "table": "names with values",
    "tables": "a list, each of names with values",
    "plain": "a single value, or a list of them",
}


class SectionReader:
    """Reads values of a file.

    Args:
        what: the file's name in messages.
        trusted: whether it is one of Headlight's own, whose names of weights a test checks.
    """

    def __init__(self, what: str, *, trusted: bool) -> None:
        self.what, self.trusted = what, trusted

    def items(self, node: Node, what: str) -> list[Node]:
        """A list's nodes."""
        if not isinstance(node.value, list):
            raise self.error(node, f"{what} must be a list")
        return node.value

    def texts(self, node: Node, what: str) -> tuple[str, ...]:
        """A text, or a list of texts."""
        nodes = node.value if isinstance(node.value, list) else [node]
        return tuple(self.text(one, what) for one in nodes)

    def text(self, node: Node, what: str) -> str:
        """A text."""
        if not isinstance(node.value, str):
            raise self.error(node, f"{what} must be text")
        return node.value

    def dictionary(self, node: Node, what: str) -> dict[str, Node]:
        """Names with their values; empty for nothing."""
        if node.value is None:
            return {}
        if not isinstance(node.value, dict):
            raise self.error(
                node, f"{what if what.isidentifier() else shown(what)} must hold names with values"
            )
        return node.value

    def error(self, node: Node, problem: str) -> CheckpointError:
        """An error that names the line."""
        return CheckpointError(f"{self.what}, line {node.line}: {problem}.")

    def conditions(self, node: Node) -> dict[str, Any]:
        """Conditions on a checkpoint, as `conditions.holds` takes them."""
        parts = self.dictionary(node, "conditions")
        self.check_kinds(parts, CONDITIONS, "condition")
        found = {name: plain_value(part) for name, part in parts.items()}
        if "any" in parts:
            found["any"] = [self.conditions(one) for one in parts["any"].value]
        if "not" in parts:
            found["not"] = self.conditions(parts["not"])
        return found

    def check_kinds(self, parts: Mapping[str, Node], kinds: Mapping[str, str], what: str) -> None:
        """Reject names that are not among `kinds`, and values of other kinds."""
        self.check_names(parts, kinds, what)
        for name, node in parts.items():
            value = plain_value(node)
            if not _KINDS[kinds[name]](value):
                raise self.error(node, f"{what} {name} is {shown(value)}: it must be {_WORDS[kinds[name]]}")

    def check_names(self, parts: Mapping[str, Node], known: Iterable[str], what: str) -> None:
        """Reject names that are not among the known ones."""
        for name, node in parts.items():
            if name not in known:
                raise self.error(node, f"there is no {what} {shown(name)}{nearest_name(name, known)}")


def plain_value(node: Node) -> Any:
    """A node as plain Python values."""
    if isinstance(node.value, list):
        return [plain_value(item) for item in node.value]
    if isinstance(node.value, dict):
        return {name: plain_value(item) for name, item in node.value.items()}
    return node.value


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is most like a wrong one, as the end of a sentence; empty if there is none."""
    found = difflib.get_close_matches(name[:200], sorted(known), n=1, cutoff=0.5)
    return f"; the nearest is {found[0]}" if found else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
