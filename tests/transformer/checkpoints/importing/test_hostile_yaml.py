"""Hostile mapping files: each is quickly refused with its line or read as plain values, and runs nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.fuzz import at_most
from transformer.checkpoints.importing.layout.file import text_of
from transformer.checkpoints.importing.layout.plain_yaml import MAX_CHARACTERS, Node, read_yaml
from transformer.checkpoints.reading.limits import MEBIBYTE
from transformer.errors import CheckpointError

MOST_SECONDS, MOST_MEMORY = 1.0, 64 * MEBIBYTE
FULL = MAX_CHARACTERS - 16
LAUGHS = "".join(
    f"{name}: &{name} [*{before}, *{before}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
REFUSED: dict[str, tuple[str, str]] = {
    # code, and whatever YAML constructs
    "a call": ("a: !!python/object/apply:os.system ['true']", "line 1: tags"),
    "a name": ("a: 1\nb: !!python/name:os.system", "line 2: tags"),
    "a tag of its own": ("a: !mine 1", "tags"),
    "an empty tag": ("a: ! 1", "tags"),
    "a tag by a directive": ("%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!name:os.system", "line 3: tags"),
    "a tag of no text": ("!<" + "%ff" * 9 + "> a", "not YAML"),
    "binary": ("a: !!binary aGk=", "tags"),
    "a set": ("a: !!set {b}", "tags"),
    "many bangs": ("!" * FULL, "tags"),
    # anchors and aliases
    "an anchor": ("a: &b 1", "anchors and aliases"),
    "an alias to nothing": ("a: *b", "anchors and aliases"),
    "a billion laughs": ("a: &a [x, x]\n" + LAUGHS, "line 1: anchors"),
    "a list in itself": ("&a [*a]", "anchors"),
    "a merged anchor": ("a:\n  <<: *b", "line 2: anchors"),
    "many aliases": ("*a " * (FULL // 3), "anchors|not YAML"),
    # nesting and size
    "deep lists": ("[" * FULL, "nested too deeply"),
    "deep dictionaries": ("{a: " * (FULL // 4), "nested too deeply"),
    "deep lines": ("\n".join(f"{' ' * depth}a:" for depth in range(300)), "nested too deeply"),
    "dashes in one line": ("- " * (FULL // 2), "nested too deeply"),
    "keys in keys": ("? " * (FULL // 2), "nested too deeply"),
    "many values": ("[" + "1," * (FULL // 2) + "]", "more than 4,000 values"),
    "many keys": ("".join(f"k{number}: 1\n" for number in range(5_000)), "more than 4,000 values"),
    "too long": ("#" * (MAX_CHARACTERS + 1), "has 65,537 characters"),
    "a long key": ("x" * FULL + ": 1", "not YAML"),
    "endless quotes": ('"' + "\\n" * (FULL // 2), "not YAML"),
    "a list that stays open": ("[" + "\n" * FULL, "not YAML"),
    "many words in brackets": ("{" + "a " * (FULL // 2), "not YAML"),
    # documents and characters
    "nothing": ("", "is empty"),
    "comments": ("#\n" * (FULL // 2), "is empty"),
    "blanks": (" \t\n" * (FULL // 4), "is empty"),
    "two documents": ("a: 1\n---\nb: 2", "line 2: a second document"),
    "many documents": ("---\na\n" * (FULL // 6), "line 3: a second document"),
    "directives alone": ("%x\n" * (FULL // 3), "not YAML"),
    "a NUL": ("a: \0", "not YAML"),
    "a bell": ("a: \a", "not YAML"),
    "a surrogate": ("a: \ud800", "not YAML"),
    # keys
    "a key twice": ("a: 1\nb: 2\na: 3", "line 3: 'a' is there twice, first in line 1"),
    "a quoted key twice": ("a: 1\n'a': 2", "twice"),
    "a list as a key": ("? [a]\n: 1", "is not a name"),
    "a dictionary as a key": ("{{a: 1}: 2}", "is not a name"),
}
READ: dict[str, tuple[str, Any]] = {
    "a mark of the byte order": ("\ufeffa: 1", {"a": 1}),
    "a merge that is a name": ("<<: {a: 1}", {"<<": {"a": 1}}),
    "a date": ("a: 2020-01-02", {"a": "2020-01-02"}),
    "an hour": ("a: 1:30", {"a": "1:30"}),
    "a hexadecimal number": ("a: 0x1f", {"a": "0x1f"}),
    "thousands of digits": ("a: " + "9" * 5_000, {"a": "9" * 5_000}),
    "an exponent beyond all numbers": ("a: 1e999999999", {"a": float("inf")}),
    "no number": ("a: .nan", {"a": ".nan"}),
    "a yes": ("a: yes", {"a": "yes"}),
    "a quoted number": ("a: '1'", {"a": "1"}),
    "nothing": ("a:", {"a": None}),
    "a large text": ("a: " + "x" * FULL, {"a": "x" * FULL}),
    "a large block": ("a: |\n" + " x\n" * (FULL // 3 - 4), {"a": "x\n" * (FULL // 3 - 4)}),
    "escapes": ('a: "' + "\\x41" * (FULL // 4 - 4) + '"', {"a": "A" * (FULL // 4 - 4)}),
    "tabs": ("{\t'a':\t1\t}", {"a": 1}),
}


def plain(node: Node) -> Any:
    match node.value:
        case dict():
            return {name: plain(one) for name, one in node.value.items()}
        case list():
            return [plain(one) for one in node.value]
    assert node.value is None or type(node.value) in (str, int, float, bool)
    return node.value


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """Little memory, and little processor time."""
    began = time.process_time()
    with at_most(MOST_MEMORY):
        yield
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("name", REFUSED)
def test_each_is_refused(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(CheckpointError, match=message) as refused:
        read_yaml(text, "The mapping file")
    assert re.fullmatch(r"The mapping file.{5,300}\.", str(refused.value))


@pytest.mark.parametrize("name", READ)
def test_each_is_read_as_plain_values(name: str) -> None:
    text, expected = READ[name]
    assert plain(read_yaml(text, "The mapping file")) == expected


@pytest.mark.parametrize(
    "content, message",
    [
        (b"a: \xff", "no UTF-8"),
        ("a: 1".encode("utf-16"), "no UTF-8"),
        (b"a" * (MAX_CHARACTERS + 1), "has 65,537 bytes"),
    ],
    ids=["no text", "UTF-16", "too long"],
)
def test_a_file_that_is_no_such_text(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "own.yaml").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        text_of(tmp_path / "own.yaml")
