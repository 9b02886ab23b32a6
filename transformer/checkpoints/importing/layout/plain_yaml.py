"""The part of YAML, and so of JSON, that settings need: mappings, lists and plain values, with their lines.

Anything that could make a document dangerous or huge (anchors, aliases, tags, several documents, deep
nesting) is rejected: only text, numbers, true, false and null are constructed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from transformer.errors import CheckpointError, shown

MAX_CHARACTERS = 64 * 1024
_MOST_VALUES = 4_000
_DEEPEST = 8
_ADVICE = "Indent with spaces, and put names with {} inside brackets in quotes."
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True)
class Node:
    """A value: text, a number, true, false, None, a list of nodes, or a dictionary of them.

    Attributes:
        value: as above.
        line: where it begins, counted from 1.
        name: the text of a plain value, which names what follows it; None for others.
    """

    value: Any
    line: int
    name: str | None = None


def read_yaml(text: str, what: str, *, trusted: bool = False) -> Node:
    """Read a document.

    Args:
        text: YAML or JSON.
        what: its name in messages: "The mapping file".
        trusted: whether libyaml may parse it, which is ten times as fast and written in C.

    Raises:
        CheckpointError: with the line, for invalid or unsupported YAML.
    """
    if len(text) > MAX_CHARACTERS:
        raise CheckpointError(f"{what} has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read.")
    try:
        return _Reader(text, what, trusted=trusted).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise CheckpointError(f"{what}{line}: this is not YAML ({shown(str(problem))}). {_ADVICE}") from error


class _Reader:
    def __init__(self, text: str, what: str, *, trusted: bool) -> None:
        # JSON may be indented by tabs, which YAML forbids.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if trusted else yaml.SafeLoader
        self._events: Iterator[Any] = iter(yaml.parse(text.expandtabs(2), Loader=loader))
        self._what = what
        self._n_values = 0

    def document(self) -> Node:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                node = self._node(next(self._events), 0)
                for rest in self._events:
                    if isinstance(rest, yaml.DocumentStartEvent):
                        raise self._error(rest, "a second document begins here: keep one")
                return node
        raise CheckpointError(f"{self._what} is empty.")

    def _node(self, event: Any, depth: int) -> Node:
        self._n_values += 1
        if self._n_values > _MOST_VALUES:
            raise self._error(event, f"there are more than {_MOST_VALUES:,} values")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self._error(event, "anchors and aliases (& and *) are not read: write the value out")
        if event.tag is not None:
            raise self._error(event, "tags (!) are not read: remove it")
        if depth > _DEEPEST:
            raise self._error(event, "the values are nested too deeply")
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else plain(event.value)
            return Node(value, line, event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node(list(self._items(yaml.SequenceEndEvent, depth)), line)
        values: dict[str, Node] = {}
        keys_and_values = self._items(yaml.MappingEndEvent, depth)
        for key in keys_and_values:
            name = key.name
            if name is None:
                raise CheckpointError(f"{self._what}, line {key.line}: {shown(key.value)} is not a name.")
            if name in values:
                raise CheckpointError(
                    f"{self._what}, line {key.line}: {shown(name)} is there twice, first in line "
                    f"{values[name].line}."
                )
            values[name] = next(keys_and_values)
        return Node(values, line)

    def _items(self, end: type, depth: int) -> Iterator[Node]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self._node(event, depth + 1)

    def _error(self, event: Any, problem: str) -> CheckpointError:
        return CheckpointError(f"{self._what}, line {event.start_mark.line + 1}: {problem}.")


def plain(text: str) -> Any:
    """An unquoted value: a number (also 1e-5, which YAML 1.1 reads as text), a constant, or text."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if len(text) <= 40 and text[:1] in "+-.0123456789":
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
