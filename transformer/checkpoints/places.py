"""Finds models: shipped ones by name, others by path. Nothing here needs torch."""

from __future__ import annotations

import os
from pathlib import Path

from transformer.errors import CheckpointError, shown_path
from transformer.files import ASSETS, finish_replacing

MODELS = ASSETS / "models"
"""Folder of the shipped models, with one subfolder per model."""

CONFIG, VOCABULARY, CARD = "config.json", "vocabulary.json", "README.md"
"""Files next to the weights in a folder that Headlight saved; only such a folder has vocabulary.json."""

PREFERRED = ("en-it", "toy-en-it")
"""Shipped models to start with, in order of preference."""


def shipped_models() -> list[str]:
    """The names of the models in assets/models, preferred ones first."""
    names = sorted(path.parent.name for path in MODELS.glob(f"*/{CONFIG}"))
    return [
        *(name for name in PREFERRED if name in names),
        *(name for name in names if name not in PREFERRED),
    ]


def default_model() -> str:
    """The model to start with."""
    return next(iter(shipped_models()), PREFERRED[0])


def place_of(name_or_path: str | Path) -> Path:
    """The folder of a shipped model by name, or any existing path with ~ expanded.

    A save that a killed process left unfinished is finished.

    Raises:
        CheckpointError: when there is no such model or path, or a killed process left it half saved.
    """
    if str(name_or_path) in shipped_models():
        return MODELS / name_or_path
    path = _at_home(name_or_path)
    if not os.path.exists(path):  # noqa: PTH110 (Path.exists raises for names that are too long)
        names = ", ".join(shipped_models()) or "none"
        raise CheckpointError(
            f"There is no model {shown_path(name_or_path)}: name a shipped one ({names}), or the path of a "
            "file of weights or of a model's folder."
        )
    try:
        finish_replacing(path)
    except OSError as error:
        raise CheckpointError(
            f"{shown_path(path)} was being saved when its process was killed, and the rest can't be written "
            f"({error.strerror}): open it once where it may be written to."
        ) from error
    return path


def is_own(path: Path) -> bool:
    """True for a folder that Headlight saved: a shipped model's, or one with vocabulary.json."""
    return path.parent == MODELS or (path / VOCABULARY).is_file()


def _at_home(path: Path | str) -> Path:
    """The path with ~ expanded.

    Raises:
        CheckpointError: when there is no such home folder, or the path is empty.
    """
    if not str(path).strip():  # Path("") is the current folder
        raise CheckpointError("The path is empty: give that of a file of weights or of a model's folder.")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise CheckpointError(
            f"{shown_path(path)} names a home folder that does not exist: type the whole path."
        ) from error
