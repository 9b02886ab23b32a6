"""A model's weights in safetensors: one file, or several with an index in Hugging Face's layout."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from transformer.errors import CheckpointError
from transformer.files import replace_all, save_tensors

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_FLOATS = ("F16", "BF16", "F32", "F64")
_HEADER, _HEADER_ENTRY = 128, 160
"""Upper bounds on a header's bytes: the fixed part, and per tensor without its name."""


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Read a file that contains a JSON object.

    Raises:
        CheckpointError: when it is missing, damaged or contains something else.
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


def ties(model: nn.Module) -> dict[str, str]:
    """Tied weights: name -> the first name of the same parameter."""
    first: dict[int, str] = {}
    tied = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if first.setdefault(id(parameter), name) != name:
            tied[name] = first[id(parameter)]
    return tied


def save_weights(
    folder: Path,
    weights: Mapping[str, Tensor],
    max_file_bytes: int | None,
    *,
    texts: Mapping[str, str],
    others: Iterable[str],
) -> None:
    """Write model.safetensors, or several shards and an index if one file would exceed the limit.

    A tensor is never split: one larger than the limit gets a file of its own.

    Args:
        folder: an existing folder.
        weights: weights by name.
        max_file_bytes: largest size of a file.
        texts: further files of the model, by name, which replace the old ones together with the weights.
        others: names of files that an earlier model may have left, and that are not this model's.

    Raises:
        OSError: when writing fails; the earlier files are then unchanged.
    """
    shards = list(_shards(weights, max_file_bytes))
    numbered = [f"model-{i:05}-of-{len(shards):05}.safetensors" for i in range(1, len(shards) + 1)]
    files = dict(zip(numbered if len(shards) > 1 else [WEIGHTS], shards, strict=True))
    writers: dict[str, Callable[[Path], object]] = {
        name: partial(save_tensors, tensors=shard, metadata={"format": "pt"}) for name, shard in files.items()
    }
    if len(files) > 1:
        size = sum(tensor.nbytes for tensor in weights.values())
        index = {"metadata": {"total_size": size}, "weight_map": _homes(files)}
        texts = {**texts, INDEX: json.dumps(index, indent=2)}
    writers |= {name: partial(Path.write_text, data=text, encoding="utf-8") for name, text in texts.items()}
    shards_before = [path for path in folder.glob("model-*.safetensors") if _SHARD.fullmatch(path.name)]
    old = [*shards_before, *(folder / name for name in (WEIGHTS, INDEX, *others))]
    replace_all({folder / name: write for name, write in writers.items()}, removed=old)


def open_weights(folder: Path, shapes: Mapping[str, list[int]]) -> dict[str, Tensor]:
    """Read weights as float32, whatever dtype they were saved in.

    Names, shapes and dtypes are checked before any weight is read.

    Args:
        folder: the model folder.
        shapes: shape of every weight of the model.

    Raises:
        CheckpointError: for missing or damaged files, or other tensors than those.
    """
    index = None if (folder / WEIGHTS).exists() or not (folder / INDEX).exists() else _read_index(folder)
    names = [WEIGHTS] if index is None else sorted(set(index.values()))
    with ExitStack() as stack:
        files = {name: stack.enter_context(_open(folder, name)) for name in names}
        found = {name: _described(folder / name, file) for name, file in files.items()}
        homes = _homes(found)
        if index is not None and homes != index:
            raise CheckpointError(
                f"{folder / INDEX} does not fit the files that it names: copy all of them again."
            )
        together = {weight: shape for described in found.values() for weight, shape in described.items()}
        if together != shapes:
            raise CheckpointError(
                f"{folder / names[0]} is not the model of config.json: {_difference(together, shapes)}."
            )
        return {weight: files[homes[weight]].get_tensor(weight).to(torch.float32) for weight in shapes}


def _shards(weights: Mapping[str, Tensor], max_file_bytes: int | None) -> Iterator[dict[str, Tensor]]:
    """Distribute weights over files, in order."""
    shard: dict[str, Tensor] = {}
    size = _HEADER
    for name, tensor in weights.items():
        needed = tensor.nbytes + len(name.encode()) + _HEADER_ENTRY
        if shard and max_file_bytes is not None and size + needed > max_file_bytes:
            yield shard
            shard, size = {}, _HEADER
        shard[name] = tensor
        size += needed
    yield shard


def _homes(files: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Weight -> its file."""
    return {weight: name for name, weights in files.items() for weight in weights}


def _read_index(folder: Path) -> dict[str, str]:
    """Read the index: weight -> its file. Files outside the folder are refused."""
    index = read_json(folder, INDEX).get("weight_map")
    if not isinstance(index, dict) or not index:
        raise CheckpointError(f"{folder / INDEX} has no weight_map: copy or save it again.")
    for weight, name in index.items():
        if not isinstance(name, str) or not _SHARD.fullmatch(name):
            raise CheckpointError(
                f"{folder / INDEX} says that {weight} is in {name!r}, which is no file name such as "
                "model-00001-of-00002.safetensors: copy or save it again."
            )
    return index


def _open(folder: Path, name: str) -> Any:
    try:
        return safe_open(folder / name, framework="pt")
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder} has no {name}: choose the folder that a model was saved into, with all its files."
        ) from error
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / name} can't be read ({error}): copy or save it again.") from error


def _described(path: Path, file: Any) -> dict[str, list[int]]:
    """Read the shapes of a file's weights from its header."""
    shapes = {}
    for weight in file.keys():  # noqa: SIM118 (no mapping)
        described = file.get_slice(weight)
        if described.get_dtype() not in _FLOATS:
            raise CheckpointError(
                f"{path}: {weight} holds {described.get_dtype()}, no numbers with a fraction."
            )
        shapes[weight] = described.get_shape()
    return shapes


def _difference(found: Mapping[str, Sequence[int]], expected: Mapping[str, Sequence[int]]) -> str:
    for name in sorted(found.keys() | expected.keys()):
        if name not in found:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} is not part of it"
        if found[name] != expected[name]:
            return f"{name} is {found[name]} where {expected[name]} is due"
    return "no difference"
