"""The checkpoint that a user has opened: it belongs to their browser session and goes with it."""

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
"""How the names of opened models begin, in choices and keys of caches; no folder is called so."""
_INDEX = ".index.json"
Upload: TypeAlias = tuple[str, bytes | memoryview]
"""A file that came through the browser: as it was called where it came from, and what is in it."""


@dataclass
class OpenedCheckpoint:
    """A checkpoint that was opened.

    Attributes:
        label: what users see: the file's or folder's own name.
        path: that was opened.
        answers: to what the files don't tell.
        imported: the model and the report.
        mapping: what the user says about its layout; None for one that is known.
        uploads: where uploaded files lie; None for a path.
        name: names it in choices and caches: nobody can guess it.
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
        """The model on a device; the one on the CPU stays as it is.

        Raises:
            CheckpointError: when weights are missing.
        """
        loaded = self.imported.loaded
        if loaded is None:
            raise CheckpointError(
                "This checkpoint lacks weights, so it can't be run: see the page Checkpoint."
            )
        if device.type == "cpu":
            return loaded
        if device.type not in self._on_devices:
            moved = freeze(copy.deepcopy(loaded.model).to(device))
            self._on_devices[device.type] = replace(loaded, model=moved)
        return self._on_devices[device.type]


class CheckpointSlot:
    """Holds what one user has opened: one checkpoint at a time.

    Args:
        forget: called with the name of what is no longer open.
    """

    def __init__(self, forget: Callable[[str], None]) -> None:
        self.opened: OpenedCheckpoint | None = None
        self._forget = forget

    def own(self, name: str) -> OpenedCheckpoint:
        """What this user has opened under a name.

        Raises:
            CheckpointError: when it is not theirs, or not any more.
        """
        if self.opened is None or self.opened.name != name:
            raise CheckpointError(
                "This checkpoint is not open any more: open it again on the page Checkpoint."
            )
        return self.opened

    def open_path(self, path: str, mapping: str | None = None) -> OpenedCheckpoint:
        """Open a file or folder of this machine in the place of the one before.

        Args:
            path: of it.
            mapping: text of a mapping file, if its layout is none of the known ones.

        Raises:
            CheckpointError: says why not; what was open before stays.
        """
        if not path.strip():
            raise CheckpointError("Type the path of a file or folder.")
        chosen = Path(path.strip())
        imported = open_checkpoint(chosen, mapping=mapping, limits=LOCAL_LIMITS)
        return self._put(OpenedCheckpoint(chosen.name or str(chosen), chosen, {}, imported, mapping))

    def open_uploads(self, uploads: Iterable[Upload], mapping: str | None = None) -> OpenedCheckpoint:
        """Open uploaded files in the place of what was open before.

        Args:
            uploads: the files.
            mapping: as in `open_path`.

        Raises:
            CheckpointError: says why not; what was open before stays.
        """
        folder = tempfile.TemporaryDirectory(prefix="headlight-upload-", ignore_cleanup_errors=True)
        try:
            path = _store(uploads, Path(folder.name))
            imported = open_checkpoint(path, mapping=mapping, limits=UPLOAD_LIMITS)
        except BaseException:
            folder.cleanup()
            raise
        label = path.name if path.is_file() else "uploaded folder"
        return self._put(OpenedCheckpoint(label, path, {}, imported, mapping, folder))

    def answer(self, answers: Mapping[str, Any]) -> OpenedCheckpoint:
        """Open it again with these answers to what the files don't tell.

        Raises:
            CheckpointError: for answers that make no model; what was open before stays.
        """
        old = self.opened
        assert old is not None
        limits = LOCAL_LIMITS if old.uploads is None else UPLOAD_LIMITS
        imported = open_checkpoint(old.path, answers=answers, mapping=old.mapping, limits=limits)
        self.opened = OpenedCheckpoint(old.label, old.path, dict(answers), imported, old.mapping, old.uploads)
        self._forget(old.name)
        return self.opened

    def close(self) -> None:
        """Let go of it; uploaded files are removed."""
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
    """Whether a name is that of an opened model, someone's or nobody's."""
    return name.startswith(PREFIX)


def _store(uploads: Iterable[Upload], folder: Path) -> Path:
    """Write uploaded files under their plain names; what is to be opened: the one file, or their folder.

    Files that no checkpoint is read from (pictures, logs, a trainer's settings) are left out.

    Raises:
        CheckpointError: for none that could be read, two of one name, or a disk that is full.
    """
    for path, content in uploads:
        name = Path(path.replace("\\", "/")).name
        if name not in (*TEXTS, *BINARIES) and not name.endswith((*SUFFIXES, _INDEX)):
            continue
        try:
            with (folder / name).open("xb") as file:
                file.write(content)
        except FileExistsError as error:
            raise CheckpointError(f"{name!r} was chosen twice: choose the files of one model.") from error
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{name!r} can't be stored here ({error}): give it a plain name, or make room on the disk of "
                "the machine that Headlight runs on."
            ) from error
    stored = list(folder.iterdir())
    if not stored:
        raise CheckpointError(
            f"Choose a file of weights ({', '.join(SUFFIXES)}), or all files of a model's folder."
        )
    return stored[0] if len(stored) == 1 and stored[0].name.endswith(SUFFIXES) else folder
