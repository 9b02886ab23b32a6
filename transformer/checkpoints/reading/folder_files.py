"""Finds the weights and the known small files in a folder; reads nothing outside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints.reading.formats.unread import (
    HEAD_BYTES,
    describe,
    describe_name,
    is_lfs_pointer,
)
from transformer.checkpoints.reading.limits import Limits, check_count
from transformer.checkpoints.reading.raw import Texts, parsed_object
from transformer.checkpoints.reading.regular_file import open_regular_file
from transformer.errors import CheckpointError, shown

CARD = "README.md"
TOKENIZER_TEXTS = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "target_vocab.json",
    "merges.txt",
)
ADAPTER_CONFIG = "adapter_config.json"
"""Settings of an adapter that the library PEFT saved."""
MAPPING = "headlight-map.yaml"
"""A user's mapping file for an unknown layout: see `importing.families.own_layout`."""
TEXTS = (
    "config.json",
    "params.json",
    "generation_config.json",
    ADAPTER_CONFIG,
    *TOKENIZER_TEXTS,
    "vocabulary.json",
    MAPPING,
    CARD,
)
"""Small files read as text."""

BINARIES = ("source.spm", "target.spm", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
"""Small files read as bytes: sentencepiece models."""

WHOLE = ("model.safetensors", "pytorch_model.bin")
"""Hugging Face's weights files, in order of preference; NAME.index.json lists shards."""

ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
"""Files in which PEFT saves an adapter, in order of preference."""

SUFFIXES = (".safetensors", ".pt", ".pth", ".ckpt", ".bin", ".npz")
_SAVED_MODEL = "saved_model.pb"
_CODE_KEYS = ("auto_map", "custom_pipelines")
_KNOWN_CODE = ("minimind",)
"""Model types that are always saved with their code; a layout says what it computes, so it isn't needed."""
_MAX_NAMES = 10_000
_LARGEST_TEXTS = {
    **dict.fromkeys(("config.json", "params.json", "generation_config.json", ADAPTER_CONFIG), 2**20),
    MAPPING: 2**16,
}
"""Size limits in bytes for settings files; vocabularies may use the rest of the budget for small files."""
_LONGEST_REVISION = 1_000


@dataclass(frozen=True)
class FolderFiles:
    """The relevant files of a folder.

    Attributes:
        format: "headlight" for a folder written by Headlight; empty if the weights files determine the
            format.
        weights: the weights files, in order.
        homes: tensor name -> its file according to the index; empty without an index.
        texts: the small files.
        adapter: the file of an adapter next to the weights; None without one.
    """

    format: str
    weights: tuple[Path, ...]
    homes: Mapping[str, Path]
    texts: Texts
    adapter: Path | None


def look_into(folder: Path, limits: Limits) -> FolderFiles:
    """Find the weights in a folder and read its small files.

    Raises:
        CheckpointError: when there is not exactly one set of weights, or a file is outside the folder.
    """
    root, folder = _root(folder), _revision(folder)
    names = _names(folder)
    texts = dict(_texts(root, folder, names, limits))
    _refuse_code(texts)
    weights, homes = _weights(root, folder, names, limits)
    own = {"config.json", "vocabulary.json"} <= texts.keys() and weights[0].suffix == ".safetensors"
    adapter = next((_inside(root, folder / name) for name in ADAPTERS if name in names), None)
    return FolderFiles("headlight" if own else "", weights, homes, texts, adapter)


def _root(folder: Path) -> Path:
    """The folder that must contain all files: this one, or the model's folder in Hugging Face's cache."""
    repository = folder.resolve().parents[1] if folder.resolve().parent.name == "snapshots" else folder
    return repository.resolve() if (repository / "blobs").is_dir() else folder.resolve()


def _revision(folder: Path) -> Path:
    """The snapshot of a model folder in Hugging Face's cache; any other folder unchanged."""
    snapshots = folder / "snapshots"
    if not (snapshots.is_dir() and (folder / "blobs").is_dir()):
        return folder
    _inside(folder.resolve(), snapshots)
    revisions = sorted(path for path in snapshots.iterdir() if path.is_dir() and not path.is_symlink())
    main = folder / "refs" / "main"
    wanted = b""
    if main.is_file():
        wanted = _small(_inside(folder.resolve(), main), "refs/main", _LONGEST_REVISION).strip()
    chosen = [path for path in revisions if os.fsencode(path.name) == wanted] or revisions
    if len(chosen) != 1:
        raise CheckpointError(f"holds {len(revisions)} revisions of a model: copy one of them with cp -rL.")
    return chosen[0]


def _names(folder: Path) -> set[str]:
    names = set()
    for path in folder.iterdir():
        names.add(path.name)
        if len(names) > _MAX_NAMES:
            raise CheckpointError(
                f"holds more than {_MAX_NAMES:,} files: choose a folder with one model alone."
            )
    return names


def _inside(root: Path, path: Path) -> Path:
    """The resolved path of a file in the folder.

    Raises:
        CheckpointError: when a link leads out of the folder.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:  # a cycle of links
        raise CheckpointError(
            f"has the link {shown(path.name)}, which leads nowhere: take it away."
        ) from error
    if not real.is_relative_to(root):
        raise CheckpointError(
            f"has the link {shown(path.name)}, which leads out of the folder: choose a folder that holds the "
            "files themselves. (Of Hugging Face's cache: the folder models--..., or a copy by cp -rL.)"
        )
    return real


def _texts(root: Path, folder: Path, names: set[str], limits: Limits) -> Iterator[tuple[str, str | bytes]]:
    left = limits.max_small_file_bytes
    for name in (*TEXTS, *BINARIES):
        if name not in names:
            continue
        content = _small(_inside(root, folder / name), name, min(left, _LARGEST_TEXTS.get(name, left)))
        left -= len(content)
        if name in BINARIES:
            yield name, content
            continue
        try:
            yield name, content.decode(errors="replace" if name == CARD else "strict")
        except UnicodeDecodeError as error:
            raise CheckpointError(
                f"has {name}, which is no UTF-8 text: copy or download it again."
            ) from error


def _small(path: Path, name: str, limit: int) -> bytes:
    try:
        with open_regular_file(path) as file:
            if file.size > limit:
                raise CheckpointError(f"has {file.size:,} bytes, where {limit:,} are allowed: check it.")
            content = file.read(0, file.size)
        if is_lfs_pointer(content):
            raise CheckpointError(describe(content[:HEAD_BYTES]) or "")
    except CheckpointError as error:
        raise CheckpointError(f"has {name}, which {error}") from error
    return content


def _refuse_code(texts: Texts) -> None:
    """Refuse a model that needs code from its folder (trust_remote_code in transformers)."""
    for name in ("config.json", "tokenizer_config.json"):
        if name not in texts:
            continue
        values = parsed_object(texts[name], f"has {name}, which")
        if values.get("model_type") in _KNOWN_CODE:
            continue
        parts = [values, *(part for part in values.values() if isinstance(part, dict))]
        code = next((key for key in _CODE_KEYS for part in parts if part.get(key)), None)
        if code is not None:
            raise CheckpointError(
                f"has a {name} with {code}: the model asks for code that comes with it, and no code of "
                f"others is run. If the model is of a kind that Headlight knows, take {code} out of the file."
            )


def _weights(
    root: Path, folder: Path, names: set[str], limits: Limits
) -> tuple[tuple[Path, ...], dict[str, Path]]:
    """The weights files, and each tensor's file according to the index."""
    for whole in WHOLE:
        index = f"{whole}.index.json"
        if whole in names:
            return (_inside(root, folder / whole),), {}
        if index in names:
            homes = _read_index(_inside(root, folder / index), index, Path(whole).suffix, limits)
            missing = sorted(set(homes.values()) - names)
            if missing:
                raise CheckpointError(
                    f"lacks {missing[0]}, which {index} names: copy or download all its files."
                )
            files = {name: _inside(root, folder / name) for name in sorted(set(homes.values()))}
            return tuple(files.values()), {tensor: files[name] for tensor, name in homes.items()}
    found = sorted(name for name in names if name.lower().endswith(SUFFIXES) and name not in ADAPTERS)
    if len(found) == 1:
        return (_inside(root, folder / found[0]),), {}
    if not found and names & {ADAPTER_CONFIG, *ADAPTERS}:
        raise CheckpointError(
            "holds an adapter (LoRA) and not the model that it changes: put its files into that model's "
            "folder, and answer adapter=merge, or merge the two and save the result."
        )
    raise CheckpointError(_no_weights(found, names))


def _no_weights(found: list[str], names: set[str]) -> str:
    if {"consolidated.00.pth", "consolidated.01.pth"} <= names:
        return (
            "holds a model of Meta's cut into parts for several accelerators (consolidated.00.pth, ...), a "
            "piece of each matrix in every file: convert it first with transformers' "
            "convert_llama_weights_to_hf.py."
        )
    if found:
        listed = ", ".join(map(shown, found[:5])) + (", ..." if len(found) > 5 else "")
        return f"holds several files of weights ({listed}): choose one of them."
    if _SAVED_MODEL in names:
        return (
            f"is a SavedModel of TensorFlow ({_SAVED_MODEL}), which is not read: convert it to PyTorch "
            "first, or choose the folder that it was made from."
        )
    other = next(((name, said) for name in sorted(names) if (said := describe_name(name))), None)
    if other is not None:
        name, (kind, advice) = other
        return f"has no weights that are read: {shown(name)} {kind}. {advice}."
    if names & {*TOKENIZER_TEXTS, *BINARIES}:
        return (
            "holds a tokenizer and no weights: choose the folder that the model was saved into, or put its "
            f"{' or '.join(WHOLE)} next to these files."
        )
    if names & {".git", "config.json"}:
        return (
            f"holds a configuration and no weights (such as {' or '.join(WHOLE)}): download those too, with "
            "`git lfs pull` where it is a clone."
        )
    return f"holds no weights (such as {' or '.join(WHOLE)}): choose the folder that a model was saved into."


def _read_index(path: Path, name: str, suffix: str, limits: Limits) -> dict[str, str]:
    """Read the index (tensor -> file), accepting only plain names of files in the folder."""
    text = _small(path, name, limits.max_header_bytes)
    homes = parsed_object(text, f"has {name}, which").get("weight_map")
    if not isinstance(homes, dict) or not homes:
        raise CheckpointError(f"has {name} without a weight_map: copy or download it again.")
    check_count(len(homes), limits)
    for tensor, file in homes.items():
        if not isinstance(file, str):
            raise CheckpointError(f"has {name} with files that have no names: copy or download it again.")
        if not _is_plain(file) or not file.endswith(suffix):
            raise CheckpointError(
                f"has {name}, which says that {shown(tensor)} is in {shown(file)}, and that is no "
                f"plain name of a {suffix} file in the folder: copy or download it again."
            )
    return homes


def _is_plain(name: str) -> bool:
    return name.isprintable() and not name.startswith(".") and not set(name) & set('/\\:*?"<>|')
