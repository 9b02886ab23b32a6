"""Atomic file writes, safe even if the power fails; locks; and where our own files are."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from torch import Tensor

CODE = Path(__file__).resolve().parents[1]
"""The folder of the packages, which our child processes need on their path."""
ASSETS = next((path for path in (CODE / "headlight" / "assets", CODE / "assets") if path.is_dir()), CODE)
"""The shipped models and examples: inside the installed package, next to it in a checkout."""
REPLACING = "replacing.txt"
"""Lists what is being renamed in a folder; there only if the process that renames was killed."""
_SAFETENSORS = {
    f"torch.{name}": kind
    for name, kind in (
        *(("float64", "F64"), ("float32", "F32"), ("float16", "F16"), ("bfloat16", "BF16"), ("bool", "BOOL")),
        *(("int64", "I64"), ("int32", "I32"), ("int16", "I16"), ("int8", "I8"), ("uint8", "U8")),
    )
}
"""The names of dtypes in safetensors files."""
_PART, _RENAMED, _REMOVED = ".part", "renamed: ", "removed: "


@cache
def headlight_version() -> str:
    """The version of this code, such as "0.3.0"."""
    # Not from the installed metadata, which an editable install keeps from the day of its installation.
    files = (folder / "pyproject.toml" for folder in (CODE / "headlight", CODE))
    own = next(path for path in files if path.is_file())
    return str(tomllib.loads(own.read_text(encoding="utf-8"))["project"]["version"])


@lru_cache(maxsize=256)
def source_of(function: Callable[..., Any]) -> str:
    """The location of a function or class, as "file:line name", relative to the project's folder."""
    plain = inspect.unwrap(function)
    file = Path(inspect.getfile(plain)).resolve()
    shown = file.relative_to(CODE) if file.is_relative_to(CODE) else Path(file.name)
    return f"{shown.as_posix()}:{inspect.getsourcelines(plain)[1]} {plain.__qualname__}"


def replace_all(writers: Mapping[Path, Callable[[Path], object]], *, removed: Iterable[Path] = ()) -> None:
    """Write files in one folder under temporary names, then rename them all.

    Existing files stay until all new ones are written. Files and folder are synced to disk. If the process is
    killed between two renames, `finish_replacing` makes the others: a list of them was written before.

    Args:
        writers: at least one file -> function that writes to the path it is given.
        removed: files in the same folder that belong to the old ones, and are removed with them.

    Raises:
        OSError: when writing fails, for example on a full disk; existing files are unchanged.
    """
    folder = next(iter(writers)).parent
    finish_replacing(folder)
    parts = {path: path.with_name(f"{path.name}{_PART}") for path in writers}
    gone = [path for path in removed if path not in writers and path.exists()]
    try:
        for path, write in writers.items():
            with _named(path):
                write(parts[path])
                with parts[path].open("rb") as file:
                    os.fsync(file.fileno())
        is_alone = len(parts) + len(gone) == 1
        if is_alone:
            ((path, part),) = parts.items()
            part.replace(path)
        else:
            lines = [f"{_RENAMED}{path.name}\n" for path in parts] + [
                f"{_REMOVED}{path.name}\n" for path in gone
            ]
            write_text(folder / REPLACING, "".join(lines))
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise
    if is_alone:
        sync_folder(folder)
    else:
        finish_replacing(folder)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Give an error of the system that names no file, as when a disk is full, this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def finish_replacing(folder: Path) -> None:
    """Make the renames that a killed process still had to make in a folder, if any.

    Raises:
        OSError: when they can't be made.
    """
    try:
        lines = (folder / REPLACING).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return
    for line in lines:
        # The name alone: a stranger's folder must not lead outside itself.
        path = folder / Path(line[len(_RENAMED) :]).name
        if line.startswith(_RENAMED):
            with suppress(FileNotFoundError):  # it was renamed already
                path.with_name(f"{path.name}{_PART}").replace(path)
        elif line.startswith(_REMOVED):
            path.unlink(missing_ok=True)
    sync_folder(folder)
    (folder / REPLACING).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text; see `replace_all`."""
    replace_all({path: lambda part: part.write_text(text, encoding="utf-8")})


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes; see `replace_all`."""
    replace_all({path: lambda part: part.write_bytes(content)})


def check_place(path: Path) -> None:
    """Refuse a path that can't be written to, before its contents are computed.

    Raises:
        IsADirectoryError, FileNotFoundError: with a message for the user.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}: make it first.")


def write_json(path: Path, value: object) -> None:
    """Write JSON; see `replace_all`."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file; see `replace_all`."""
    replace_all({path: partial(save_tensors, tensors=tensors, metadata=metadata)})


def save_tensors(part: Path, *, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None) -> None:
    """Write a safetensors file, as a writer for `replace_all`.

    The library would write another temporary file next to it, of a random name, which stays if the process is
    killed.

    Raises:
        OSError: when writing fails.
        KeyError: for a dtype that safetensors files don't have.
    """
    # Imported here because finding the shipped models does not need torch.
    import torch

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # Large elements first, so that all are aligned.
    names = sorted(plain, key=lambda name: (-plain[name].element_size(), name))
    header: dict[str, object] = {} if metadata is None else {"__metadata__": metadata}
    end = 0
    for name in names:
        tensor = plain[name]
        begin, end = end, end + tensor.nbytes
        kind = _SAFETENSORS[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with part.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(plain[name].reshape(-1).view(torch.uint8).numpy().data)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk."""
    if os.name == "nt":  # Windows can't open folders; it syncs their entries with the files
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def digest(path: Path) -> str | None:
    """SHA-256 of a file's contents; None if it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class LockedError(Exception):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file; the system releases it when this process ends for any reason.

    Raises:
        LockedError: when another process holds it.
        OSError: when the file can't be created.
    """
    try:
        lock = FileLock(path, blocking=False).acquire()
    except Timeout as error:
        raise LockedError from error
    with lock:
        yield
