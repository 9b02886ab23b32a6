"""Files that are there whole or not at all, whenever the power fails."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from torch import Tensor

CODE = Path(__file__).resolve().parents[1]
"""Where the packages lie: what a process of our own needs on its path."""
ASSETS = next((path for path in (CODE / "headlight" / "assets", CODE / "assets") if path.is_dir()), CODE)
"""The shipped models and examples: inside of the package where it is installed, beside it in a checkout."""


def replace_all(
    writers: Mapping[Path, Callable[[Path], object]], *, between: Callable[[], object] = lambda: None
) -> None:
    """Have files of one folder written beside their places, then put them there.

    What was there stays until all are written. Files and folder are on the disk, not only in its cache, when
    this returns.

    Args:
        writers: for each file, not none: called with the path to write to.
        between: called when all files are written and none is in its place yet.

    Raises:
        OSError: when one can't be written, for a full disk say; the files that were there are as they were.
    """
    parts = {path: path.with_name(f"{path.name}.part") for path in writers}
    try:
        for path, write in writers.items():
            write(parts[path])
            with parts[path].open("rb") as file:
                os.fsync(file.fileno())
        between()
        for path, part in parts.items():
            part.replace(path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    sync_folder(next(iter(parts)).parent)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all: see `replace_all`."""
    replace_all({path: lambda part: part.write_text(text, encoding="utf-8")})


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes, whole or not at all: see `replace_all`."""
    replace_all({path: lambda part: part.write_bytes(content)})


def check_place(path: Path) -> None:
    """Refuse a path that no file can be written to, before its contents are made.

    Raises:
        IsADirectoryError, FileNotFoundError: with a message for people.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}: make it first.")


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, whole or not at all: see `replace_all`."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors as safetensors, whole or not at all: see `replace_all`."""
    replace_all({path: partial(save_tensors, tensors=tensors, metadata=metadata)})


def save_tensors(part: Path, *, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None) -> None:
    """Write a safetensors file that everybody may read who may read others: one of `replace_all`'s writers.

    Raises:
        OSError: when it can't be written.
    """
    # Only here, for it imports torch: who finds shipped models by their names can do without.
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    part.touch()
    readers = part.stat().st_mode  # the library lets nobody but the owner read
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(kept, part, metadata)
    except SafetensorError as error:
        raise OSError(None, str(error), str(part.with_suffix(""))) from error
    part.chmod(readers)


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder's files to the disk."""
    if os.name == "nt":  # which opens no folders, and brings their names to the disk with the files
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


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
    try:
        lock = FileLock(path, blocking=False).acquire()
    except Timeout as error:
        raise LockedError from error
    with lock:
        yield
