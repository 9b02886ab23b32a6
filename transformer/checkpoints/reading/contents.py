"""A checkpoint's file or folder: what its files of weights and its small files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints.reading.folder_files import FolderFiles, look_into
from transformer.checkpoints.reading.found import Found, check_count
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.regular_file import named, shown
from transformer.checkpoints.reading.weights_file import read_weights
from transformer.errors import CheckpointError


@dataclass(frozen=True)
class Contents:
    """What is in the chosen file or folder; no weight has been read.

    Attributes:
        format: as in RawCheckpoint.
        files: the files of weights with their tensors.
        texts: the folder's small files.
    """

    format: str
    files: tuple[tuple[Path, Found], ...]
    texts: Mapping[str, str | bytes]


def read_contents(path: Path, limits: Limits) -> Contents:
    """Read the heads and the small files of a checkpoint.

    Raises:
        CheckpointError: says what is wrong, with the name of the file or folder, and what to do.
    """
    try:
        if "\0" in str(path):
            raise CheckpointError("is no path: check it.")
        if not path.is_dir():
            kind, found = read_weights(path, limits)
            return Contents(kind, ((path, found),), {})
        folder = look_into(path, limits)
    except CheckpointError as error:
        raise CheckpointError(f"{named(path)} {error}") from error
    except OSError as error:
        raise CheckpointError(
            f"{named(path)} can't be read ({error.strerror}): check that you may read it."
        ) from error
    _check_size(folder.weights, limits)
    files = []
    for file in folder.weights:
        try:
            kind, found = read_weights(file, limits)
        except CheckpointError as error:
            raise CheckpointError(f"{named(file)} {error}") from error
        files.append((file, found))
    _check_homes(path, folder, files, limits)
    return Contents(folder.format or kind, tuple(files), folder.texts)


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


def _check_homes(path: Path, folder: FolderFiles, files: list[tuple[Path, Found]], limits: Limits) -> None:
    """Each tensor is in one file, and that is the one which the index says."""
    homes: dict[str, Path] = {}
    for file, found in files:
        for name in found.tensors:
            if name in homes:
                raise CheckpointError(
                    f"{named(path)} has the tensor {shown(name)} in two files: copy or download all of them "
                    "again."
                )
            homes[name] = file
    check_count(len(homes), limits)
    for name, home in folder.homes.items():
        if name not in homes or homes[name] != home:
            raise CheckpointError(
                f"{named(path)} does not have {shown(name)} in the file that its index says: copy or "
                "download all its files."
            )
