"""Checkpoints built byte by byte, so that anything in them can be wrong, and a process to read them in."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS
from transformer.checkpoints.reading.raw import WeightsFile

NUMBERS = struct.pack("<6f", *range(6))
"""Content of the storage "0": six numbers."""


@dataclass(frozen=True)
class Name:
    """A global."""

    module: str
    name: str


@dataclass(frozen=True)
class Call:
    """A global called with arguments."""

    called: Any
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Object:
    """An object of a class: constructed with arguments, then given its state, if any."""

    made: Any
    args: tuple[Any, ...] = ()
    state: Any = None


@dataclass(frozen=True)
class Reference:
    """A persistent id."""

    value: Any


@dataclass(frozen=True)
class Raw:
    """Raw opcodes."""

    code: bytes


def opcodes(value: Any) -> bytes:  # noqa: C901 (a line for each kind of value)
    """Opcodes that push a value on the stack of the pickle machine."""
    match value:
        case Raw(code):
            return code
        case Name(module, name):
            return f"c{module}\n{name}\n".encode()
        case Call(called, args):
            return opcodes(called) + opcodes(args) + b"R"
        case Object(made, args, state):
            given = b"" if state is None else opcodes(state) + b"b"
            return opcodes(made) + opcodes(args) + b"\x81" + given
        case Reference(inner):
            return opcodes(inner) + b"Q"
        case None:
            return b"N"
        case bool():
            return b"\x88" if value else b"\x89"
        case int():
            return b"\x8a\x0b" + value.to_bytes(11, "little", signed=True)
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        case bytes():
            return b"B" + struct.pack("<I", len(value)) + value
        case tuple():
            return b"(" + b"".join(map(opcodes, value)) + b"t"
        case list():
            return b"](" + b"".join(map(opcodes, value)) + b"e"
        case dict():
            inner = b"".join(opcodes(key) + opcodes(one) for key, one in value.items())
            return b"}(" + inner + b"u"
    raise TypeError(value)


def pickled(value: Any) -> bytes:
    """A whole pickle of protocol 2."""
    return b"\x80\x02" + opcodes(value) + b"."


ORDERED = Call(Name("collections", "OrderedDict"), ())


def storage(kind: str = "FloatStorage", key: str = "0", n_items: int = 6, location: str = "cpu") -> Reference:
    """A persistent id that refers to numbers in the archive."""
    return Reference(("storage", Name("torch", kind), key, location, n_items))


def tensor(
    shape: tuple[Any, ...] = (2, 3),
    strides: tuple[Any, ...] = (3, 1),
    *,
    start: Any = 0,
    of: Any = None,
    hooks: Any = ORDERED,
    rest: tuple[Any, ...] = (),
) -> Call:
    """A tensor as torch.save writes it."""
    args = (of if of is not None else storage(), start, shape, strides, False, hooks, *rest)
    return Call(Name("torch._utils", "_rebuild_tensor_v2"), args)


def archive(
    pickle: bytes,
    storages: Mapping[str, bytes] | None = None,
    *,
    root: str = "archive",
    method: int = zipfile.ZIP_STORED,
    byte_order: str = "little",
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """A zip as torch.save writes it, around any pickle."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as out:
        out.writestr(f"{root}/data.pkl", pickle)
        out.writestr(f"{root}/byteorder", byte_order)
        for key, numbers in (storages if storages is not None else {"0": NUMBERS}).items():
            out.writestr(f"{root}/data/{key}", numbers)
        for name, extra in (more or {}).items():
            out.writestr(name, extra)
    return content.getvalue()


def saved(value: Any, **changes: Any) -> bytes:
    """An archive of one value."""
    return archive(pickled(value), **changes)


MAGIC = 0x1950A86A20F9469CFC6C
COUNTED = struct.pack("<q", 6) + NUMBERS
"""The storage "0", preceded by its count."""


def legacy(
    value: Any,
    *,
    keys: Any = ("0",),
    storages: bytes = COUNTED,
    version: Any = 1001,
    machine: Any = None,
    magic: int = MAGIC,
) -> bytes:
    """A file as torch.save wrote it before 1.6, around any value or its opcodes."""
    number = b"\x80\x02\x8a\x0a" + magic.to_bytes(10, "little") + b"."
    facts = machine if machine is not None else {"protocol_version": 1001, "little_endian": True}
    listed = list(keys) if isinstance(keys, tuple) else keys
    return number + pickled(version) + pickled(facts) + pickled(value) + pickled(listed) + storages


def old_storage(
    kind: str = "FloatStorage", key: Any = "0", n_items: Any = 6, view: Any = None, location: str = "cpu"
) -> Reference:
    """A persistent id in the old format, which includes the view of the numbers."""
    return Reference(("storage", Name("torch", kind), key, location, n_items, view))


def safetensors(head: Any, numbers: bytes = NUMBERS, *, length: int | None = None) -> bytes:
    """A safetensors file with any header."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def entry(
    shape: Any = (2, 3), dtype: Any = "F32", begin: Any = 0, end: Any = 24, **more: Any
) -> dict[str, Any]:
    """A tensor in the header of a safetensors file."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end], **more}


class AttributeDict(dict[str, Any]):
    """The dictionary class in which Lightning stores a module's arguments."""


def read_saved(
    value: Any, folder: Path, protocol: int = 2, *, is_zip: bool = True, wanted: str = ""
) -> WeightsFile:
    """Save a value with torch.save and read the file."""
    path = folder / "weights.pt"
    torch.save(value, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    return read_contents(path, LOCAL_LIMITS, wanted).files[0]


def written(folder: Path, content: bytes) -> Path:
    """A weights file with this content."""
    path = folder / "weights.pt"
    path.write_bytes(content)
    return path


ROOT = Path(__file__).parents[4]
START = """
import json, sys
from pathlib import Path
from transformer.checkpoints.reading import __main__ as own
"""


def in_process(code: str) -> str:
    """Run code in a process like the reading one, with its main module as `own`; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-E", "-s", "-S", "-c", START + textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
