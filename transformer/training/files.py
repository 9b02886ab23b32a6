"""Files that are there whole or not at all, whenever the power fails."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor


def replace_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place, then put it there; the file that was there stays until then.

    File and folder are on the disk, not only in its cache, when this returns.

    Args:
        path: of the file; its folder exists.
        write: called with the path to write to.

    Raises:
        OSError: when it can't be written, for a full disk say; the file that was there is as it was.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder's files to the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors as safetensors, whole or not at all: see `replace_whole`."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}

    def write(part: Path) -> None:
        try:
            save_file(kept, part, metadata)
        except SafetensorError as error:
            raise OSError(None, str(error), str(path)) from error

    replace_whole(path, write)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, whole or not at all: see `replace_whole`."""
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    replace_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def digest(path: Path) -> str | None:
    """A name of a file's contents; None when it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class LockedError(Exception):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with this process, however that ends.

    Raises:
        LockedError: when another process holds it.
        OSError: when the file can't be made.
    """
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockedError from error
        yield
