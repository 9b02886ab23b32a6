"""Details of zip archives and pickles: whatever two readers could interpret differently is refused."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.reading.crafted import (
    NUMBERS,
    Call,
    Name,
    archive,
    opcodes,
    saved,
    storage,
    tensor,
    written,
)
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS, Limits
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError

GOOD = saved({"w": tensor()})
CENTRAL, LOCAL, END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"
FIELDS = {"flags": 8, "method": 10, "crc": 16, "packed": 20, "size": 24, "header": 42}
"""Offsets of fields within a directory entry."""
SHORT = {"flags", "method", "disk", "here", "entries", "comment"}
"""Fields of two bytes; the others have four."""


def refused(content: bytes, tmp_path: Path, message: str, limits: Limits = LOCAL_LIMITS) -> None:
    path = written(tmp_path, content)
    with pytest.raises(CheckpointError, match=message):
        read_contents(path, limits)


def replaced(content: bytes, at: int, code: str, value: int) -> bytes:
    new = struct.pack(code, value)
    return content[:at] + new + content[at + len(new) :]


def central(content: bytes, name: bytes) -> int:
    """Offset of the directory entry with that name."""
    return next(
        found.start()
        for found in re.finditer(CENTRAL, content)
        if content[found.start() + 46 :].startswith(b"archive/" + name)
    )


def local(content: bytes, name: bytes) -> int:
    return content.index(b"archive/" + name) - 30


IN_DIRECTORY, IN_HEADER, IN_END = (
    {name: start + at for name, at in fields.items()}
    for start, fields in (
        (central(GOOD, b"data/0"), FIELDS),
        (local(GOOD, b"data/0"), {"flags": 6, "method": 8, "crc": 14, "size": 22}),
        (GOOD.rindex(END), {"disk": 4, "here": 8, "entries": 10, "size": 12, "start": 16, "comment": 20}),
    )
)
"""Offsets of fields in the file: of the directory's entry of data/0, its local header, and the end record."""
LIES: list[tuple[dict[str, int], dict[str, int], str]] = [
    (IN_DIRECTORY, {"method": 8}, "compressed entry"),
    (IN_DIRECTORY, {"flags": 1}, "encrypted"),
    (IN_DIRECTORY, {"crc": 7}, "two different things"),
    (IN_DIRECTORY, {"size": 25}, "damaged"),
    (IN_DIRECTORY, {"packed": 23}, "damaged"),
    (IN_DIRECTORY, {"packed": 2**20, "size": 2**20}, "damaged|two different things"),
    (IN_DIRECTORY, {"header": 1}, "share bytes"),
    (IN_DIRECTORY, {"header": 2**32 - 2}, "damaged"),
    (IN_DIRECTORY, {"header": 0}, "two different things|share bytes"),
    (IN_DIRECTORY, {"header": 2**32 - 1}, "damaged"),
    (IN_HEADER, {"flags": 4}, "two different things"),
    (IN_HEADER, {"method": 8}, "two different things"),
    (IN_HEADER, {"crc": 7}, "two different things"),
    (IN_HEADER, {"size": 7}, "two different things"),
    (IN_END, {"disk": 1}, "several files"),
    (IN_END, {"here": 1}, "several files"),
    (IN_END, {"here": 2, "entries": 2}, "damaged"),
    (IN_END, {"here": 4, "entries": 4}, "damaged"),
    (IN_END, {"size": 2**31}, "damaged"),
    (IN_END, {"start": 0}, "damaged"),
    (IN_END, {"comment": 1}, "does not end as one"),
]


@pytest.mark.parametrize("fields, changes, message", LIES)
def test_an_archive_that_lies(
    tmp_path: Path, fields: dict[str, int], changes: dict[str, int], message: str
) -> None:
    content = GOOD
    for name, value in changes.items():
        content = replaced(content, fields[name], "<H" if name in SHORT else "<I", value)
    refused(content, tmp_path, message)


def test_a_local_header_with_another_name(tmp_path: Path) -> None:
    at = local(GOOD, b"data/0") + 30
    refused(GOOD[:at] + b"archive/data/9" + GOOD[at + 14 :], tmp_path, "two different things")


def test_entries_that_share_bytes(tmp_path: Path) -> None:
    """An entry inside another's bytes: numbers to one reader are a header to another."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as out:
        out.writestr("archive/data/1", NUMBERS)
    header = inner.getvalue()[: 30 + len("archive/data/1") + len(NUMBERS)]
    pickle = saved({"w": tensor()})
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as out:
        for name, content in zipfile_entries(pickle).items():
            out.writestr(name, header if name.endswith("data/0") else content)
        out.writestr("archive/data/1", NUMBERS)
    content = outer.getvalue()
    inside = content.index(header)
    refused(replaced(content, central(content, b"data/1") + 42, "<I", inside), tmp_path, "share bytes")


def zipfile_entries(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def test_a_long_archive_is_read(tmp_path: Path) -> None:
    """Zip64, as for files over 4 GB: an entry's sizes and offset are in its extra field."""
    at = central(GOOD, b"data/0")
    n_bytes, header = struct.unpack_from("<I", GOOD, at + 24)[0], struct.unpack_from("<I", GOOD, at + 42)[0]
    extra = struct.pack("<2H3Q", 1, 24, n_bytes, n_bytes, header)
    name_end = at + 46 + len("archive/data/0")
    content = GOOD
    for field in ("packed", "size", "header"):
        content = replaced(content, at + FIELDS[field], "<I", 2**32 - 1)
    content = replaced(content, at + 30, "<H", len(extra))
    content = content[:name_end] + extra + content[name_end:]
    end = content.rindex(END)
    size = struct.unpack_from("<I", content, end + 12)[0] + len(extra)
    content = replaced(content, end + 12, "<I", size)
    raw = read_checkpoint(written(tmp_path, content), UPLOAD_LIMITS, tmp_path)
    assert torch.equal(map_tensor(raw.tensors["w"]), torch.arange(6.0).view(2, 3))
    refused(content.replace(extra, extra[:2] + struct.pack("<H", 16) + extra[4:]), tmp_path, "damaged")


# Pickles

STEPS: dict[str, tuple[bytes, str]] = {
    "a global by the stack": (opcodes("os") + opcodes("system") + b"\x93.", r"os\.system"),
    "a class to be made of no name": (b"N)\x81.", "would not write"),
    "a class with arguments that are none": (opcodes(Name("a", "B")) + b"N}\x92.", "damaged"),
    "a class with names that are none": (opcodes(Name("a", "B")) + b")N\x92.", "damaged"),
    "an instance": (b"(ios\nsystem\n.", r"os\.system"),
    "an object": (b"(" + opcodes(Name("torch", "Size")) + b"o.", "would not write"),
    "an object of no name": (b"(o.", "would not write"),
    "an extension": (b"\x82\x01.", "operation"),
    "a persistent id in text": (b"P0\n.", "operation"),
    "a number in text that is none": (b"Ione\n.", "damaged"),
    "a long number in text": (b"I" + b"9" * 99 + b"\n.", "whole number of 42 bytes"),
    "more digits than Python reads": (b"L" + b"9" * 5_000 + b"L\n.", "damaged"),
    "a line without an end": (b"I1", "damaged"),
    "more dropped than there is": (b"0.", "damaged"),
    "a mark dropped that is none": (b"N1.", "damaged"),
    "the state of a list": (b"]}b.", "sets the state"),
    "a key twice in an object": (opcodes(Name("a", "B")) + b")\x81(K\x01NK\x01Nu.", "twice"),
    "a key twice in pairs": (
        opcodes(Call(Name("collections", "OrderedDict"), ([("a", 1), ("a", 2)],))) + b".", "twice",
    ),
    "a pair of one": (opcodes(Call(Name("collections", "OrderedDict"), ([("a",)],))) + b".", "not write"),
    "a counter of a list": (opcodes(Call(Name("collections", "Counter"), ([],))) + b".", "not write"),
    "a buffer elsewhere": (b"\x97.", "operation"),
    "a long number": (b"\x8a\xff" + b"\x01" * 255 + b".", "whole number of 255 bytes"),
    "text that is none": (b"X\x02\x00\x00\x00\xff\xfe.", "no UTF-8"),
    "a surrogate": (b"X\x03\x00\x00\x00\xed\xa0\x80.", "no UTF-8"),
    "a mark that is left": (b"(}.", "damaged"),
    "two values": (b"}}.", "damaged"),
    "bytes after the end": (b"}.}", "damaged"),
    "a list that is none": (b"}Na.", "damaged"),
    "a dictionary that is none": (b"]NNs.", "damaged"),
    "an odd dictionary": (b"}(Nu.", "damaged"),
    "a set that is none": (b"](N\x90.", "damaged"),
    "more than below the mark": (b"N(\x86.", "damaged"),
    "a tuple without a mark": (b"Nt.", "damaged"),
    "a frame beyond the end": (b"\x95" + b"\xff" * 8 + b"}.", "damaged"),
    "a key twice": (b"}(" + opcodes("w") + b"N" + opcodes("w") + b"Nu.", "twice"),
    "a reference to something else": (opcodes(("module", "__main__", "0", "cpu", 6)) + b"Q.", "not write"),
    "a storage of no kind": (opcodes(("storage", Name("torch", "Size"), "0", "cpu", 6)) + b"Q.", "not write"),
    "a negative storage": (opcodes(storage(n_items=-1)) + b".", "not write"),
    "one storage, two sizes": (opcodes([storage(), storage(n_items=5)]) + b".", "two different things"),
    "one storage, two kinds": (opcodes([storage(), storage("LongStorage")]) + b".", "two different things"),
    "a parameter of nothing": (
        opcodes(Name("torch._utils", "_rebuild_parameter")) + opcodes((1, True, None)) + b"R.", "not write",
    ),
    "a size of texts": (opcodes(Name("torch", "Size")) + opcodes((("a",),)) + b"R.", "not write"),
    "an ordered dictionary of arguments": (
        opcodes(Name("collections", "OrderedDict")) + opcodes(({},)) + b"R.", "not write",
    ),
    "bytes of another coding": (
        opcodes(Name("_codecs", "encode")) + opcodes(("a", "rot13")) + b"R.", "not write",
    ),
    "state for a dictionary": (b"}}b.", "state"),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_no_weights_need(tmp_path: Path, name: str) -> None:
    code, message = STEPS[name]
    refused(archive(b"\x80\x02" + code), tmp_path, message)


@pytest.mark.parametrize("step", [b"(", b"N", b"q%c"], ids=["marks", "stack", "memo"])
def test_what_a_pickle_keeps_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: bytes) -> None:
    for limit in ("MAX_STACK", "MAX_MEMO"):
        monkeypatch.setattr(f"transformer.checkpoints.reading.formats.pickles.machine.{limit}", 100)
    steps = b"".join(step % k if b"%" in step else step for k in range(102))
    refused(archive(b"\x80\x02}" + steps + b"."), tmp_path, "too many values at once")


def test_limits_of_an_archive(tmp_path: Path) -> None:
    two = saved({"w": tensor(), "v": tensor()})
    refused(two, tmp_path, "2 tensors, where 1", Limits(max_file_bytes=None, max_tensors=1))
    refused(GOOD, tmp_path, "a directory of", Limits(max_file_bytes=None, max_header_bytes=100))
    refused(GOOD, tmp_path, "a pickle of", Limits(max_file_bytes=None, max_header_bytes=190))
    refused(GOOD, tmp_path, "where 100 are allowed", Limits(max_file_bytes=100))
    many = saved({"w": tensor()}, more={f"archive/more/{k}": b"" for k in range(110)})
    refused(many, tmp_path, "113 entries, where 101", Limits(max_file_bytes=None, max_tensors=1))


def test_truth_values_are_0_or_1(tmp_path: Path) -> None:
    """With any other byte PyTorch's comparisons would be undefined."""
    value = {"w": tensor((6,), (1,), of=storage("BoolStorage"))}
    path = written(tmp_path, saved(value, storages={"0": b"\0\1\0\1\1\2"}))
    assert read_checkpoint(path).tensors["w"].dtype == "BOOL"
    with pytest.raises(CheckpointError, match="neither 0 nor 1"):
        read_checkpoint(path, UPLOAD_LIMITS, tmp_path)
