"""A checkpoint as JSON between the process that reads it and the one that asked."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from transformer.checkpoints.reading.contents import Contents
from transformer.checkpoints.reading.formats.zip_file import check_crc
from transformer.checkpoints.reading.found import Block
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.checkpoints.reading.regular_file import Source, named, open_source
from transformer.errors import CheckpointError

NUMBERS = "numbers.bin"
"""The file that validated tensors are copied into."""
_ALIGNED = 64
"""Each block begins at a multiple of so many bytes, so that any kind of number can be looked at in place."""

Places = Mapping[tuple[Path, int], tuple[Path, int]]
"""A block's file and offset -> the file and offset that it was copied to."""


def copy_blocks(contents: Contents, folder: Path) -> Places:
    """Copy the numbers of every block into one file, checksums compared on the way.

    Raises:
        CheckpointError: when a checksum is wrong or a file changes meanwhile.
        OSError: when the folder can't be written.
    """
    places: dict[tuple[Path, int], tuple[Path, int]] = {}
    target = folder / NUMBERS
    with target.open("xb") as out:
        for path, found in contents.files:
            blocks = {placed.block.offset: placed.block for placed in found.tensors.values()}
            try:
                with open_source(path) as source:
                    for block in blocks.values():
                        out.write(bytes(-out.tell() % _ALIGNED))
                        places[path, block.offset] = target, out.tell()
                        _copy(block, source, out)
            except CheckpointError as error:
                raise CheckpointError(f"{named(path)} {error}") from error
    return places


def _copy(block: Block, source: Source, out: BinaryIO) -> None:
    if block.crc is None and block.dtype != "BOOL":
        source.copy(block.offset, block.n_bytes, out)
        return
    checksum = 0
    for chunk in source.chunks(block.offset, block.n_bytes):
        if block.dtype == "BOOL" and chunk.translate(None, b"\0\1"):
            raise CheckpointError("has truth values that are neither 0 nor 1: copy or save it again.")
        if block.crc is not None:
            checksum = zlib.crc32(chunk, checksum)
        out.write(chunk)
    if block.crc is not None:
        check_crc(checksum, block.crc, "a tensor")


def to_table(contents: Contents, places: Places | None = None) -> dict[str, Any]:
    """Describe a checkpoint in plain values.

    Args:
        contents: as they were read.
        places: where its blocks were copied to; where they are when left out.
    """
    files = [path for path, _ in contents.files]
    homes = files if places is None else sorted({home for home, _ in places.values()})
    tensors: list[Any] = []
    first: dict[tuple[Path, int, int, tuple[int, ...]], str] = {}
    aliases: dict[str, str] = {}
    extras: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    for path, found in contents.files:
        extras |= found.extras
        left_out |= found.left_out
        for name, placed in found.tensors.items():
            block = placed.block
            home, offset = (path, block.offset) if places is None else places[path, block.offset]
            tensors.append(
                [name, block.dtype, placed.shape, homes.index(home), offset + placed.start, placed.n_bytes]
            )
            same = first.setdefault((path, block.offset, placed.start, placed.shape), name)
            if same != name:
                aliases[name] = same
    return {
        "format": contents.format,
        "files": list(map(str, files)),
        "homes": list(map(str, homes)),
        "tensors": tensors,
        "aliases": aliases,
        "extras": extras,
        "left_out": left_out,
        "texts": {name: _packed(content) for name, content in contents.texts.items()},
    }


def from_table(table: Mapping[str, Any], path: Path) -> RawCheckpoint:
    """The inverse of `to_table`, for the path that was chosen."""
    homes = list(map(Path, table["homes"]))
    tensors = {
        name: StoredTensor(name, dtype, tuple(shape), homes[home], offset, n_bytes)
        for name, dtype, shape, home, offset, n_bytes in table["tensors"]
    }
    aliases: dict[str, str] = table["aliases"]
    return RawCheckpoint(
        path=path,
        format=table["format"],
        tensors=tensors,
        aliases=aliases,
        extras=table["extras"],
        left_out=table["left_out"],
        texts={name: _unpacked(content) for name, content in table["texts"].items()},
        n_bytes=sum(stored.n_bytes for name, stored in tensors.items() if name not in aliases),
        files=tuple(map(Path, table["files"])),
    )


def _packed(content: str | bytes) -> dict[str, str]:
    if isinstance(content, str):
        return {"text": content}
    return {"base64": base64.b64encode(content).decode()}


def _unpacked(content: Mapping[str, str]) -> str | bytes:
    return content["text"] if "text" in content else base64.b64decode(content["base64"])
