"""The safetensors format: header length, JSON header, then the tensors' bytes without gaps.

https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transformer.checkpoints.reading.formats.quantised import check_not_quantised
from transformer.checkpoints.reading.limits import (
    Limits,
    check_count,
    check_name,
    check_not_empty,
    check_shape,
)
from transformer.checkpoints.reading.raw import ITEM_BYTES, Block, TensorView, WeightsFile, parsed_object
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

METADATA = "__metadata__"
_LENGTH_BYTES = 8
_DAMAGED = "copy or download it again"


def looks_like_safetensors(head: bytes) -> bool:
    """True if a file that starts with these bytes is a safetensors file."""
    return head[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def read_safetensors(file: RegularFile, limits: Limits) -> WeightsFile:
    """Read and check the header of a safetensors file.

    Raises:
        CheckpointError: when the header violates the format.
    """
    if file.size < _LENGTH_BYTES:
        raise CheckpointError(f"is no safetensors file, it has {file.size} bytes: {_DAMAGED}.")
    length = int.from_bytes(file.read(0, _LENGTH_BYTES), "little")
    if length > file.size - _LENGTH_BYTES:
        raise CheckpointError(
            f"says that its head has {length:,} bytes and has {file.size - _LENGTH_BYTES:,} in all: it is "
            f"cut off or no safetensors file; {_DAMAGED}."
        )
    if length > limits.max_header_bytes:
        raise CheckpointError(
            f"has a head of {length:,} bytes, where {limits.max_header_bytes:,} are allowed: save it again."
        )
    head = parsed_object(file.read(_LENGTH_BYTES, length), "has a head that", _without_duplicates)
    metadata = head.pop(METADATA, {})
    _check_metadata(metadata)
    check_count(len(head), limits)
    check_not_quantised(head, _dtypes(head))
    begin = _LENGTH_BYTES + length
    tensors = {name: _view(name, entry, begin, limits) for name, entry in head.items()}
    if not tensors:
        raise CheckpointError("holds no tensors: save it again.")
    _check_layout([view.block for view in tensors.values()], begin, file.size)
    return WeightsFile(file.path, "safetensors", tensors | _tied(metadata, tensors, limits))


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise CheckpointError(f"has {shown(name)} twice in its head: save it again.")
        values[name] = value
    return values


def _dtypes(head: dict[str, Any]) -> Iterator[str]:
    for entry in head.values():
        if isinstance(entry, dict) and isinstance(entry.get("dtype"), str):
            yield entry["dtype"]


def _check_metadata(metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"has metadata that is more than names with texts: {_DAMAGED}.")


def _view(name: str, entry: Any, begin: int, limits: Limits) -> TensorView:
    check_name(name, limits)
    what = f"the tensor {shown(name)}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"does not describe {what} by dtype, shape and data_offsets alone: {_DAMAGED}.")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str):
        raise CheckpointError(f"gives {what} no dtype: {_DAMAGED}.")
    if dtype not in ITEM_BYTES:
        raise CheckpointError(
            f"has {what} in {shown(dtype)}, which is not read ({', '.join(ITEM_BYTES)} are): convert it with "
            ".float() and save it again."
        )
    if not _whole_numbers(shape):
        raise CheckpointError(f"gives {what} a shape that is no list of whole numbers: {_DAMAGED}.")
    check_shape(tuple(shape), limits, what)
    check_not_empty(tuple(shape), what)
    if not _whole_numbers(offsets) or len(offsets) != 2 or not 0 <= offsets[0] < offsets[1] < 2**63:
        raise CheckpointError(f"gives {what} no valid data_offsets: {_DAMAGED}.")
    view = TensorView(Block(begin + offsets[0], offsets[1] - offsets[0], dtype), 0, tuple(shape))
    if view.n_bytes != view.block.n_bytes:
        raise CheckpointError(
            f"gives {what} {view.block.n_bytes:,} bytes, where its shape and dtype need "
            f"{view.n_bytes:,}: {_DAMAGED}."
        )
    return view


def _tied(
    metadata: dict[str, str], tensors: Mapping[str, TensorView], limits: Limits
) -> dict[str, TensorView]:
    """Names that safetensors' save_model left out, since their tensor has another name, too.

    It notes them in the metadata: name left out -> name kept. Other entries are passed over.
    """
    tied = {name: tensors[kept] for name, kept in metadata.items() if kept in tensors and name not in tensors}
    check_count(len(tensors) + len(tied), limits)
    for name in tied:
        check_name(name, limits)
    return tied


def _whole_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int for value in values)


def _check_layout(blocks: Iterable[Block], begin: int, end: int) -> None:
    """Check that every byte after the header belongs to exactly one tensor."""
    at = begin
    for block in sorted(blocks, key=lambda block: block.offset):
        if block.offset < at:
            raise CheckpointError(
                "has two tensors that share bytes, which the format forbids: save it again."
            )
        if block.offset > at:
            raise CheckpointError(
                "has bytes that belong to no tensor, which the format forbids: save it again."
            )
        at += block.n_bytes
    if at > end:
        raise CheckpointError(f"is cut off: {at - end:,} bytes are missing at its end; {_DAMAGED}.")
    if at < end:
        raise CheckpointError(f"has {end - at:,} more bytes after its last tensor: {_DAMAGED}.")
