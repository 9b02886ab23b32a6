"""A file or folder of a checkpoint: which of its files are read, and what is in them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.checkpoints._files import CheckpointError
from transformer.checkpoints.reading.found import Found, check_count
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.source import open_source, shown
from transformer.checkpoints.reading.weights_file import read_weights

JSON_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocabulary.json",
)
PLAIN_FILES = ("vocab.txt", "merges.txt", "README.md")
BINARY_FILES = (
    "source.spm",
    "target.spm",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)
"""The small files of a folder that are read; no others are opened."""

_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Where Hugging Face folders have their weights, the best first."""
_ENDINGS = (".safetensors", ".pt", ".pth", ".ckpt", ".bin")
_CODE = "auto_map"


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
        name, found, _ = read_weights(path, limits)
        return Contents(name, ((path, found),), {})
    texts = _read_texts(path, limits)
    _refuse_code(texts)
    chosen = _choose(path)
    if chosen.name.endswith(".index.json"):
        files = _read_shards(path, chosen, limits)
        name = f"{files[0][2]} shards"
    else:
        name, found, _ = read_weights(_inside(path, chosen.name), limits)
        files = [(chosen, found, name)]
    if "vocabulary.json" in texts:
        name = "headlight"
    return Contents(name, tuple((file, found) for file, found, _ in files), texts)


def _inside(folder: Path, name: str) -> Path:
    """A file of the folder; a link that leads out of it is refused."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise CheckpointError(
            f"{shown(name)} is a link to a file outside of the folder, and nothing outside is read: copy the "
            "file itself there (cp -L)."
        )
    return path


def _read_texts(folder: Path, limits: Limits) -> dict[str, str | bytes]:
    texts: dict[str, str | bytes] = {}
    for name in (*JSON_FILES, *PLAIN_FILES, *BINARY_FILES):
        if not os.path.lexists(folder / name):
            continue
        content = _read_small(_inside(folder, name), limits)
        try:
            texts[name] = content if name in BINARY_FILES else content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{name} is no text in UTF-8: copy or download it again.") from error
    return texts


def _read_small(path: Path, limits: Limits) -> bytes:
    try:
        with open_source(path) as source:
            if source.size > limits.max_small_file_bytes:
                raise CheckpointError(
                    f"has {source.size:,} bytes, where {limits.max_small_file_bytes:,} are allowed: check "
                    "that it is the right file."
                )
            return source.read(0, source.size)
    except CheckpointError as error:
        raise CheckpointError(f"{path.name} {error}") from error


def _refuse_code(texts: Mapping[str, str | bytes]) -> None:
    for name in ("config.json", "tokenizer_config.json"):
        if name in texts and _CODE in _object(name, str(texts[name])):
            raise CheckpointError(
                f"{name} asks for code that comes with the model ({_CODE}), and no code of a checkpoint is "
                "run: choose a model of a layout that Headlight knows."
            )


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is no valid JSON: copy or save it again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{name} holds no JSON object: copy or save it again.")
    return values


def _choose(folder: Path) -> Path:
    """The file of weights in a folder, or the index of several."""
    for name in _WEIGHTS:
        if os.path.lexists(folder / name):
            return folder / name
    others = sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS))
    if len(others) == 1:
        return others[0]
    if not others:
        raise CheckpointError(
            f"{shown(folder.name)} has no weights in it ({', '.join(_WEIGHTS[::2])}, or a .pt, .pth or .ckpt "
            "file): choose the folder that a model was saved into."
        )
    names = ", ".join(shown(path.name) for path in others[:3])
    raise CheckpointError(f"{shown(folder.name)} has several files of weights ({names}): choose one of them.")


def _read_shards(folder: Path, index: Path, limits: Limits) -> list[tuple[Path, Found, str]]:
    homes = _object(
        index.name, _read_small(_inside(folder, index.name), limits).decode(errors="replace")
    ).get("weight_map")
    if not isinstance(homes, dict) or not homes or not all(isinstance(home, str) for home in homes.values()):
        raise CheckpointError(f"{index.name} has no weight_map from tensors to files: copy it again.")
    check_count(len(homes), limits)
    files = []
    total = 0
    for name in dict.fromkeys(homes.values()):
        if Path(name).name != name or name in (".", "..") or "\\" in name or not name.endswith(_ENDINGS):
            raise CheckpointError(
                f"{index.name} names the file {shown(name)}, which is no plain name of a file of weights in "
                "this folder; nothing outside of it is read. Copy the index again."
            )
        kind, found, size = read_weights(_inside(folder, name), limits)
        total += size
        if limits.max_file_bytes is not None and total > limits.max_file_bytes:
            raise CheckpointError(f"The files have more than {limits.max_file_bytes:,} bytes together.")
        files.append((folder / name, found, kind))
    there = {tensor: path.name for path, found, _ in files for tensor in found.tensors}
    if there != homes:
        odd = next(iter(sorted(there.items() ^ homes.items())))[0]
        raise CheckpointError(
            f"{index.name} does not fit the files that it names ({shown(odd)}): copy all of them again."
        )
    return files
