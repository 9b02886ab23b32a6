"""A file or folder of a checkpoint: which of its files are read, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints._files import CheckpointError
from transformer.checkpoints.reading.folder_files import look_into
from transformer.checkpoints.reading.found import Found
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.source import shown
from transformer.checkpoints.reading.weights_file import read_weights


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
        CheckpointError: says what is wrong and what to do.
    """
    if not path.exists():
        raise CheckpointError(f"There is no {shown(str(path))}: check the path.")
    if not path.is_dir():
        _check_size([path], limits)
        kind, found = read_weights(path, limits)
        return Contents(kind, ((path, found),), {})
    try:
        folder = look_into(path, limits)
    except CheckpointError as error:
        raise CheckpointError(f"The folder {shown(path.name)} {error}") from error
    _check_size(folder.weights, limits)
    files = tuple((file, read_weights(file, limits)[1]) for file in folder.weights)
    _check_homes(files, folder.homes)
    return Contents(folder.format, files, folder.texts)


def _check_size(paths: Iterable[Path], limits: Limits) -> None:
    total = sum(path.stat().st_size for path in paths)
    if limits.max_file_bytes is not None and total > limits.max_file_bytes:
        raise CheckpointError(
            f"The weights have {total:,} bytes, where {limits.max_file_bytes:,} are allowed: run Headlight "
            "on the machine that has them and give their path, or choose a smaller model."
        )


def _check_homes(files: Iterable[tuple[Path, Found]], homes: Mapping[str, str]) -> None:
    """Each tensor is in one file alone, and in that which the index says.

    Raises:
        CheckpointError: names a tensor for which that is not so.
    """
    there: dict[str, str] = {}
    for path, found in files:
        for name in found.tensors:
            if name in there:
                raise CheckpointError(
                    f"{there[name]} and {path.name} both have {shown(name)}: save it again."
                )
            there[name] = path.name
    if homes and there != homes:
        odd = min(name for name, _ in there.items() ^ homes.items())
        raise CheckpointError(
            f"The index does not say of {shown(odd)} where it is: copy or download all the files again."
        )
