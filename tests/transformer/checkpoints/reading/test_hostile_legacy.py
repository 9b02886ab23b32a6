"""Hostile and broken files in the format before PyTorch 1.6: each is quickly refused, or is inert."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tests.transformer.checkpoints.reading.crafted import (
    COUNTED,
    NUMBERS,
    Call,
    Name,
    Raw,
    Reference,
    legacy,
    old_storage,
    tensor,
)
from tests.transformer.checkpoints.reading.watched import (
    INERT,
    LIMITS,
    OWN,
    THING,
    TOUCH,
    assert_refused_or_inert,
    read_soon,
)

OTHER_SIZE = {"w": tensor(of=old_storage()), "v": tensor(of=old_storage(n_items=7))}
IDLE = Raw(b"N0" * 300_000 + b"N")


def old(**changes: Any) -> bytes:
    return legacy({"w": tensor(of=old_storage())}, **changes)


TWO = {"w": tensor(of=old_storage()), "v": tensor(of=old_storage(key="1"))}
OLD: dict[str, tuple[bytes, str]] = {
    "a command": (legacy({"w": Call(Name("os", "system"), ("true",))}), r"os\.system"),
    "a command in the facts": (old(machine=Call(Name("os", "system"), ("true",))), r"os\.system"),
    "a command in the keys": (old(keys=[Call(Name("os", "system"), ("true",))]), r"os\.system"),
    "calls of other names": (legacy({"w": tensor(of=old_storage()), "b": Call(TOUCH, ())}), INERT),
    "another number at first": (old(magic=77), "bare pickle"),
    "another version": (old(version=1002), "damaged"),
    "a version that is an object": (old(version=THING), "damaged"),
    "another byte order": (old(machine={"little_endian": False}), "byte order"),
    "no byte order": (old(machine=[]), "byte order"),
    "a byte order that is an object": (old(machine={"little_endian": THING}), "byte order"),
    "the magic number alone": (old()[:15], "damaged"),
    "nothing after the facts": (old()[: old().index(b"_rebuild")], "damaged"),
    "a count that is too small": (old(storages=struct.pack("<q", 5) + NUMBERS), "has 24 bytes and has 20"),
    "a negative count": (old(storages=struct.pack("<q", -6) + NUMBERS), "has 24 bytes and has -24"),
    "a count of 2^62": (
        legacy({"w": tensor(of=old_storage(n_items=2**62))}, storages=struct.pack("<q", 2**62) + NUMBERS),
        "cut off",
    ),
    "a storage that is cut off": (old(storages=COUNTED[:-1]), "cut off"),
    "no count": (old(storages=b""), "cut off"),
    "bytes after the end": (old(storages=COUNTED + b"more"), "4 more bytes"),
    "no keys": (old(keys=[]), "lacks the numbers of storage '0'"),
    "a key of no storage": (old(keys=["0", "1"], storages=COUNTED * 2), "'1' twice"),
    "a key twice": (old(keys=["0", "0"], storages=COUNTED * 2), "'0' twice"),
    "a key that is a list": (old(keys=[["0"]]), "twice, or that no tensor has"),
    "keys that are none": (old(keys={"0": 1}), "damaged"),
    "keys that are an object": (old(keys=THING), "damaged"),
    "a storage that is missing": (legacy(TWO, keys=["0"]), "lacks the numbers of storage '1'"),
    "two storages, one of another size": (
        legacy(TWO, keys=["0", "1"], storages=COUNTED + struct.pack("<q", 7) + NUMBERS), "storage '1' has 24",
    ),
    "a view beyond its storage": (legacy({"w": tensor(of=old_storage(view=("v", 1, 6)))}), "outside"),
    "a tensor beyond its view": (legacy({"w": tensor(of=old_storage(view=("v", 0, 5)))}), "outside"),
    "a negative view": (legacy({"w": tensor(of=old_storage(view=("v", -1, 6)))}), "outside"),
    "a view that is an object": (legacy({"w": tensor(of=old_storage(view=THING))}), "would not write"),
    "a storage of two sizes": (
        legacy(OTHER_SIZE), "two different things",
    ),
    "a class with its source": (
        legacy({"w": tensor(of=old_storage()), "c": Reference(("module", OWN, "a.py", "import os"))}), INERT,
    ),
    "a source without a class": (legacy({"w": Reference(("module", "os", None, None))}), "would not write"),
    "a meta tensor": (legacy({"w": tensor(of=old_storage(location="meta"))}), "meta"),
    "a storage of a kind that is not read": (
        legacy({"w": tensor(of=old_storage("CharStorage"))}, storages=struct.pack("<q", 6) + b"abcdef"),
        "CharStorage",
    ),
    "such a storage beside": (
        legacy(
            {"w": tensor(of=old_storage()), "optim": {"c": tensor(of=old_storage("CharStorage", "1"))}},
            keys=["0", "1"], storages=COUNTED + struct.pack("<q", 6) + b"abcdef",
        ),
        INERT,
    ),
    "steps that do nothing": (legacy({"w": tensor(of=old_storage()), "n": IDLE}), INERT),
    "more pickle than is read": (
        legacy({"w": tensor(of=old_storage()), "n": "x" * (LIMITS.max_header_bytes + 1)}),
        "has pickles of more",
    ),
}  # fmt: skip


def test_old_files_are_refused_or_inert(tmp_path: Path) -> None:
    assert_refused_or_inert(OLD, tmp_path)


def test_the_old_file_that_they_were_made_from_is_read(tmp_path: Path) -> None:
    read_soon(old(), tmp_path)
    assert (tmp_path / "copies" / "numbers.bin").read_bytes() == NUMBERS


def test_a_view_begins_where_it_says(tmp_path: Path) -> None:
    """The tensor consists of the view's numbers, counted from the view's beginning."""
    content = legacy({"w": tensor((2,), (1,), start=1, of=old_storage(view=("v", 2, 3)))})
    stored = read_soon(content, tmp_path).tensors["w"]
    numbers = stored.path.read_bytes()[stored.offset : stored.offset + stored.n_bytes]
    assert struct.unpack("<2f", numbers) == (3.0, 4.0)
