"""Reading and writing the files of a model's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class CheckpointError(ValueError):
    """A model that can't be opened; the message says why and what to do."""


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Raises:
        CheckpointError: when it is missing, damaged or holds anything else.
    """
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder} has no {name}: choose the folder that a model was saved into."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder / name} can't be read ({error}): save the model again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{folder / name} holds no JSON object: save the model again.")
    return values


def write_text(path: Path, text: str) -> None:
    """Replace a file whole or not at all.

    Raises:
        OSError: when it can't be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
