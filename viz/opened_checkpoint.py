"""The checkpoint that a user has opened; it belongs to their browser session and is closed with it."""

from __future__ import annotations

import copy
import secrets
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import torch

from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.opening import open_checkpoint
from transformer.checkpoints.reading.folder_files import BINARIES, SUFFIXES, TEXTS
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel, freeze

PREFIX = "opened "
"""Prefix of the names of opened models, in choices and cache keys; no folder has such a name."""
_INDEX = ".index.json"
Upload: TypeAlias = tuple[str, bytes | memoryview]
"""A file uploaded by the browser: its original name and its content."""


@dataclass
class OpenedCheckpoint:
    """A checkpoint that a user has opened.

    Attributes:
        label: the file's or folder's name, for users.
        path: path of the file or folder.
        answers: answers to the questions that its files leave open.
        imported: the model and the report.
        mapping: the user's description of its layout; None for a known layout.
        uploads: the folder of uploaded files; None for a path.
        name: its name in choices and caches, which cannot be guessed.
    """

    label: str
    path: Path
    answers: dict[str, Any]
    imported: Imported
    mapping: str | None = None
    uploads: tempfile.TemporaryDirectory[str] | None = None
    name: str = field(default_factory=lambda: PREFIX + secrets.token_hex(16))
    _on_devices: dict[str, LoadedModel] = field(default_factory=dict)

    def model(self, device: torch.device) -> LoadedModel:
        """The model on a device; all of them stay in memory.

        Raises:
            CheckpointError: weights are missing.
        """
        loaded = self.imported.loaded
        if loaded is None:
            raise CheckpointError(
                "This checkpoint can't run because weights are missing. See the page Checkpoint."
            )
        if device.type == "cpu":
            return loaded
        if device.type not in self._on_devices:
            moved = freeze(copy.deepcopy(loaded.model).to(device))
            self._on_devices[device.type] = replace(loaded, model=moved)
        return self._on_devices[device.type]


class CheckpointSlot:
    """The slot for one user's checkpoint, one at a time.

    Args:
        forget: called with the name of a checkpoint that is no longer open.
    """

    def __init__(self, forget: Callable[[str], None]) -> None:
        self.opened: OpenedCheckpoint | None = None
        self._forget = forget

    def own(self, name: str) -> OpenedCheckpoint:
        """The checkpoint that this user has opened under a name.

        Raises:
            CheckpointError: it is not open, or not theirs.
        """
        if self.opened is None or self.opened.name != name:
            raise CheckpointError("This checkpoint is no longer open. Open it again on the page Checkpoint.")
        return self.opened

    def open_path(self, path: str, mapping: str | None = None) -> OpenedCheckpoint:
        """Open a file or folder of this machine in place of the current checkpoint.

        Args:
            path: path of the file or folder.
            mapping: text of a mapping file, for an unknown layout.

        Raises:
            CheckpointError: it can't be opened; the current checkpoint stays open.
        """
        if not path.strip():
            raise CheckpointError("Type the path of a file or folder.")
        chosen = Path(path.strip())
        imported = open_checkpoint(chosen, mapping=mapping, limits=LOCAL_LIMITS)
        return self._put(OpenedCheckpoint(chosen.name or str(chosen), chosen, {}, imported, mapping))

    def open_uploads(self, uploads: Iterable[Upload], mapping: str | None = None) -> OpenedCheckpoint:
        """Open uploaded files in place of the current checkpoint.

        Args:
            uploads: the files.
            mapping: as in `open_path`.

        Raises:
            CheckpointError: they can't be opened; the current checkpoint stays open.
        """
        folder = tempfile.TemporaryDirectory(prefix="headlight-upload-", ignore_cleanup_errors=True)
        place = Path(folder.name) / "uploaded folder"  # the name that errors give it
        try:
            place.mkdir()
            path = _store(uploads, place)
            imported = open_checkpoint(path, mapping=mapping, limits=UPLOAD_LIMITS)
        except BaseException:
            folder.cleanup()
            raise
        return self._put(OpenedCheckpoint(path.name, path, {}, imported, mapping, folder))

    def answer(self, answers: Mapping[str, Any]) -> OpenedCheckpoint:
        """Reopen the checkpoint with these answers to its open questions.

        Raises:
            CheckpointError: the answers don't describe a model; the current checkpoint stays open.
        """
        old = self.opened
        assert old is not None
        limits = LOCAL_LIMITS if old.uploads is None else UPLOAD_LIMITS
        imported = open_checkpoint(old.path, answers=answers, mapping=old.mapping, limits=limits)
        self.opened = OpenedCheckpoint(old.label, old.path, dict(answers), imported, old.mapping, old.uploads)
        self._forget(old.name)
        return self.opened

    def close(self) -> None:
        """Close the checkpoint and remove uploaded files."""
        old, self.opened = self.opened, None
        if old is not None:
            self._forget(old.name)
            if old.uploads is not None:
                old.uploads.cleanup()

    def _put(self, opened: OpenedCheckpoint) -> OpenedCheckpoint:
        self.close()
        self.opened = opened
        return opened


def is_opened(name: str) -> bool:
    """True if this is the name of an opened checkpoint, whether or not it is still open."""
    return name.startswith(PREFIX)


def _store(uploads: Iterable[Upload], folder: Path) -> Path:
    """Write uploaded files under their plain names; returns the path to open: the only file, or the folder.

    Files that don't belong to a checkpoint (pictures, logs, a trainer's settings) are skipped.

    Raises:
        CheckpointError: no file remains, two have the same name, or one can't be written.
    """
    for path, content in uploads:
        name = Path(path.replace("\\", "/")).name
        if name not in (*TEXTS, *BINARIES) and not name.endswith((*SUFFIXES, _INDEX)):
            continue
        try:
            with (folder / name).open("xb") as file:
                file.write(content)
        except FileExistsError as error:
            raise CheckpointError(f"{name!r} was chosen twice. Choose the files of one model.") from error
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{name!r} can't be stored ({error}). Give it a plain name, or free some disk space on the "
                "machine that Headlight runs on."
            ) from error
    stored = list(folder.iterdir())
    if not stored:
        raise CheckpointError(
            f"Choose a file of weights ({', '.join(SUFFIXES)}), or all files of a model's folder."
        )
    return stored[0] if len(stored) == 1 and stored[0].name.endswith(SUFFIXES) else folder
