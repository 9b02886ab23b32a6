"""Reads a weights file, or a folder with weights and small files, and copies the tensor data."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from transformer.checkpoints.reading.folder_files import FolderFiles, look_into
from transformer.checkpoints.reading.formats.legacy_file import looks_like_legacy, read_legacy
from transformer.checkpoints.reading.formats.npz_file import looks_like_npz, read_npz
from transformer.checkpoints.reading.formats.safetensors_file import looks_like_safetensors, read_safetensors
from transformer.checkpoints.reading.formats.torch_file import read_torch
from transformer.checkpoints.reading.formats.unread import HEAD_BYTES, describe
from transformer.checkpoints.reading.formats.zip_file import ZIP_MAGIC, check_crc
from transformer.checkpoints.reading.limits import Limits, check_count
from transformer.checkpoints.reading.raw import BESIDE, Block, RawCheckpoint, StoredTensor, Texts, WeightsFile
from transformer.checkpoints.reading.regular_file import RegularFile, named, open_regular_file
from transformer.errors import CheckpointError, shown

NUMBERS = "numbers.bin"
"""File that validated tensor data is copied into."""
_ALIGNED = 64
"""Block alignment in bytes, so that tensors of any dtype can be viewed in place."""


@dataclass(frozen=True)
class Contents:
    """The contents of the chosen file or folder, before any tensor data is read.

    Attributes:
        path: the chosen path.
        format: as in RawCheckpoint.
        files: the weights files with their tensors.
        texts: the folder's small files.
    """

    path: Path
    format: str
    files: tuple[WeightsFile, ...]
    texts: Texts


def read_contents(path: Path, limits: Limits, wanted: str = "") -> Contents:
    """Read a checkpoint's headers and small files.

    Args:
        path: a weights file or a folder.
        limits: files that exceed these are refused.
        wanted: which set of weights to take where a file has several, in lower case; the likeliest if none
            has that name.

    Raises:
        CheckpointError: names the file or folder, what is wrong and what to do.
    """
    try:
        if "\0" in str(path):
            raise CheckpointError("is no path: check it.")
        if not path.is_dir():
            file = _read_file(path, limits, wanted)
            return Contents(path, file.format, (file,), {})
        folder = look_into(path, limits)
    except CheckpointError as error:
        raise CheckpointError(f"{named(path)} {error}") from error
    except OSError as error:
        raise CheckpointError(
            f"{named(path)} can't be read ({error.strerror}): check that you may read it."
        ) from error
    adapters = () if folder.adapter is None else (folder.adapter,)
    _check_size((*folder.weights, *adapters), limits)
    files = []
    for weights in (*folder.weights, *adapters):
        try:
            file = _read_file(weights, limits, wanted)
        except CheckpointError as error:
            raise CheckpointError(f"{named(weights)} {error}") from error
        if weights in adapters:
            file = replace(file, tensors={BESIDE + name: view for name, view in file.tensors.items()})
        files.append(file)
    _check_homes(path, folder, files, limits)
    form = f"{files[0].format}{' shards' if folder.homes else ''}"
    return Contents(path, folder.format or form, tuple(files), folder.texts)


def _read_file(path: Path, limits: Limits, wanted: str) -> WeightsFile:
    """Read the header of a weights file, whose format is identified by its first bytes.

    Raises:
        CheckpointError: what the file is instead, or what is wrong with it, as a sentence without its
            subject.
    """
    with open_regular_file(path) as file:
        if limits.max_file_bytes is not None and file.size > limits.max_file_bytes:
            raise CheckpointError(
                f"has {file.size:,} bytes, where {limits.max_file_bytes:,} are allowed: choose a smaller "
                "model, or give its path to Headlight on the machine that has it."
            )
        head = file.read(0, min(HEAD_BYTES, file.size))
        if looks_like_npz(head):
            return read_npz(file, limits)
        if head.startswith(ZIP_MAGIC):
            return read_torch(file, limits, wanted)
        if looks_like_legacy(head):
            return read_legacy(file, limits, wanted)
        if looks_like_safetensors(head):
            return read_safetensors(file, limits)
        instead = describe(head, path.name)
        if instead is not None:
            raise CheckpointError(instead)
        if path.suffix == ".safetensors":  # for the reader's error message
            return read_safetensors(file, limits)
    raise CheckpointError(
        "is neither safetensors nor a file of torch.save: choose a file of weights, or a model's folder."
    )


def _check_size(files: tuple[Path, ...], limits: Limits) -> None:
    if limits.max_file_bytes is None or len(files) < 2:
        return
    try:
        n_bytes = sum(file.stat().st_size for file in files)
    except OSError as error:
        raise CheckpointError(f"The files can't be read ({error.strerror}): check that you may.") from error
    if n_bytes > limits.max_file_bytes:
        raise CheckpointError(
            f"The {len(files)} files of weights have {n_bytes:,} bytes, where {limits.max_file_bytes:,} are "
            "allowed: choose a smaller model, or give its path to Headlight on the machine that has it."
        )


def _check_homes(path: Path, folder: FolderFiles, files: list[WeightsFile], limits: Limits) -> None:
    """Check that each tensor is in exactly one file, the one that the index names."""
    homes: dict[str, Path] = {}
    for file in files:
        for name in file.tensors:
            if name in homes:
                raise CheckpointError(
                    f"{named(path)} has the tensor {shown(name)} in two files: copy or download all of them "
                    "again."
                )
            homes[name] = file.path
    check_count(len(homes), limits)
    for name, home in folder.homes.items():
        if name not in homes or homes[name] != home:
            raise CheckpointError(
                f"{named(path)} does not have {shown(name)} in the file that its index says: copy or "
                "download all its files."
            )


def to_checkpoint(contents: Contents, folder: Path | None) -> RawCheckpoint:
    """Combine the tensors of all files; copy their data into `folder` if given.

    Raises:
        CheckpointError: when a checksum is wrong or a file has changed.
        OSError: when the folder can't be written.
    """
    moved = {} if folder is None else _copied(contents, folder / NUMBERS)
    tensors: dict[str, StoredTensor] = {}
    first: dict[tuple[Path, int, int, tuple[int, ...]], str] = {}
    aliases: dict[str, str] = {}
    for file in contents.files:
        for name, view in file.tensors.items():
            block = view.block
            home, offset = moved.get((file.path, block.offset), (file.path, block.offset))
            tensors[name] = StoredTensor(
                name, block.dtype, view.shape, home, offset + view.start, view.n_bytes
            )
            same = first.setdefault((file.path, block.offset, view.start, view.shape), name)
            if same != name:
                aliases[name] = same
    return RawCheckpoint(
        path=contents.path,
        format=contents.format,
        tensors=tensors,
        aliases=aliases,
        extras={key: value for file in contents.files for key, value in file.extras.items()},
        left_out={key: n for file in contents.files for key, n in file.left_out.items()},
        texts=contents.texts,
        n_bytes=sum(stored.n_bytes for name, stored in tensors.items() if name not in aliases),
        files=tuple(file.path for file in contents.files),
        choices=next((file.choices for file in contents.files if file.choices), ()),
    )


def _copied(contents: Contents, target: Path) -> dict[tuple[Path, int], tuple[Path, int]]:
    """Copy every block into one file; return old (file, offset) -> new (file, offset)."""
    moved: dict[tuple[Path, int], tuple[Path, int]] = {}
    with target.open("xb") as out:
        for weights in contents.files:
            blocks = {view.block.offset: view.block for view in weights.tensors.values()}
            try:
                with open_regular_file(weights.path) as file:
                    for block in blocks.values():
                        out.write(bytes(-out.tell() % _ALIGNED))
                        moved[weights.path, block.offset] = target, out.tell()
                        _copy(block, file, out)
            except CheckpointError as error:
                raise CheckpointError(f"{named(weights.path)} {error}") from error
    return moved


def _copy(block: Block, file: RegularFile, out: BinaryIO) -> None:
    if block.crc is None and block.dtype != "BOOL":
        file.copy(block.offset, block.n_bytes, out)
        return
    checksum = 0
    for chunk in file.chunks(block.offset, block.n_bytes):
        if block.dtype == "BOOL" and chunk.translate(None, b"\0\1"):
            raise CheckpointError("has truth values that are neither 0 nor 1: copy or save it again.")
        if block.crc is not None:
            checksum = zlib.crc32(chunk, checksum)
        out.write(chunk)
    if block.crc is not None:
        check_crc(checksum, block.crc, "a tensor")
