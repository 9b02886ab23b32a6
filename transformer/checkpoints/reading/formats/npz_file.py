"""NumPy's .npz archives, Marian's model format: an uncompressed zip of .npy files.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

An array's header is a Python dictionary literal. It must match the one line that NumPy and Marian write, and
is never evaluated.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from transformer.checkpoints.reading.formats.zip_file import ZIP_MAGIC, ZipEntry, read_entries
from transformer.checkpoints.reading.limits import (
    Limits,
    check_count,
    check_name,
    check_not_empty,
    check_shape,
)
from transformer.checkpoints.reading.raw import ITEM_BYTES, Block, TensorView, WeightsFile
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

MARIAN_CONFIG = "special:model.yml"
"""The array that holds Marian's configuration as text, byte by byte."""

_MAGIC = b"\x93NUMPY"
_SUFFIX = ".npy"
_NAME_LENGTH_AT, _NAME_AT = 26, 30
"""Offsets in the local header of a zip's first entry."""
_LONGEST_HEAD = 4_096
_LONGEST_CONFIG = 2**20
_HEAD = re.compile(
    r"\{'descr': '([<|][a-z][0-9]{1,2})', 'fortran_order': (True|False), "
    r"'shape': \(((?:[0-9]{1,15}(?:, ?[0-9]{1,15})*,? ?)?)\),? ?\} *\n?"
)
_DTYPES = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "|u1": "U8"}
_BYTES = ("|i1", "<i1", "|u1", "|S1")
"""Dtypes allowed for the text of the configuration."""
_AGAIN = "copy or download it again"


class _Head(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    length: int


def looks_like_npz(head: bytes) -> bool:
    """True if the first entry of the zip is a NumPy array."""
    n_name = int.from_bytes(head[_NAME_LENGTH_AT : _NAME_LENGTH_AT + 2], "little")
    return head.startswith(ZIP_MAGIC) and head[_NAME_AT : _NAME_AT + n_name].endswith(_SUFFIX.encode())


def read_npz(file: RegularFile, limits: Limits) -> WeightsFile:
    """Locate the arrays in an archive; Marian's configuration is returned as text in `extras`.

    Raises:
        CheckpointError: when the archive differs from how NumPy writes numeric arrays.
    """
    tensors: dict[str, TensorView] = {}
    extras = {}
    for entry_name, entry in read_entries(file, limits).items():
        name = entry_name.removesuffix(_SUFFIX)
        if name == entry_name:
            raise CheckpointError(
                f"is an archive of NumPy's arrays, and {shown(entry_name)} in it is none: save the weights "
                "alone."
            )
        check_name(name, limits)
        head = _read_head(file, entry, name)
        if name == MARIAN_CONFIG:
            extras[name] = _read_text(file, entry, head)
            continue
        tensors[name] = _view(entry, head, name, limits)
        check_count(len(tensors), limits)
    if not tensors:
        raise CheckpointError("holds no tensors: save it again.")
    return WeightsFile(file.path, "npz", tensors, extras)


def _read_head(file: RegularFile, entry: ZipEntry, name: str) -> _Head:
    """Read an array's header: magic, version, header length, and one line of text."""
    what = f"the array {shown(name)}"
    start = file.read(entry.offset, min(12, entry.n_bytes))
    n_length = 2 if start[6:7] == b"\x01" else 4
    if start[:6] != _MAGIC or len(start) < 12 or start[6] not in (1, 2, 3):
        raise CheckpointError(f"says that {what} is one of NumPy's, which it is not: {_AGAIN}.")
    begin = 8 + n_length
    length = int.from_bytes(start[8:begin], "little")
    if length > min(_LONGEST_HEAD, entry.n_bytes - begin):
        raise CheckpointError(f"gives {what} a head of {length:,} bytes: {_AGAIN}.")
    text = file.read(entry.offset + begin, length)
    match = _HEAD.fullmatch(text.decode("ascii", errors="replace"))
    if match is None:
        raise CheckpointError(
            f"describes {what} in a way that NumPy does not write for arrays of numbers: save the weights "
            "with safetensors or torch.save instead."
        )
    if match[2] == "True":
        raise CheckpointError(
            f"has {what} column by column: save it again as numpy.ascontiguousarray gives it."
        )
    shape = tuple(int(size) for size in match[3].replace(" ", "").split(",") if size)
    return _Head(match[1], shape, begin + length)


def _view(entry: ZipEntry, head: _Head, name: str, limits: Limits) -> TensorView:
    """The array's data. The zip's checksum also covers the .npy header, so both are in one block."""
    what = f"the array {shown(name)}"
    if head.dtype not in _DTYPES:
        raise CheckpointError(
            f"has {what} in {shown(head.dtype)}, which is not read ({', '.join(_DTYPES)} are): if the model "
            "is quantised, choose the one that it was made from."
        )
    dtype = _DTYPES[head.dtype]
    check_shape(head.shape, limits, what)
    check_not_empty(head.shape, what)
    due = math.prod(head.shape) * ITEM_BYTES[dtype]
    if head.length + due != entry.n_bytes:
        raise CheckpointError(
            f"gives {what} {entry.n_bytes - head.length:,} bytes, where its shape needs {due:,}: {_AGAIN}."
        )
    return TensorView(Block(entry.offset, entry.n_bytes, dtype, entry.crc), head.length, head.shape)


def _read_text(file: RegularFile, entry: ZipEntry, head: _Head) -> str:
    if head.dtype not in _BYTES or entry.n_bytes > _LONGEST_CONFIG:
        raise CheckpointError(f"has a {MARIAN_CONFIG} that is no text of at most 1 MiB: {_AGAIN}.")
    content = entry.read(file)[head.length :]
    return content.rstrip(b"\0").decode(errors="replace")
