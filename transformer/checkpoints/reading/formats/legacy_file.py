"""The format of torch.save before PyTorch 1.6: five pickles, then the bytes of the storages.

The pickles are a magic number, the format version, facts about the machine, the saved object, and the storage
keys in file order. Each storage is its item count in 8 bytes, then the items.
"""

from __future__ import annotations

from typing import Any

from transformer.checkpoints.reading.formats.pickles.machine import EndsEarlyError, read_pickle
from transformer.checkpoints.reading.formats.pickles.saved_weights import SavedWeights
from transformer.checkpoints.reading.formats.pickles.values import (
    SAVE_WEIGHTS,
    STORAGES,
    UNREAD_STORAGES,
    Storage,
)
from transformer.checkpoints.reading.formats.torch_file import as_weights_file, check_storage, lacking
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.raw import ITEM_BYTES, Block, WeightsFile
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

FORMAT = "torch before 1.6"
_MAGIC = 0x1950A86A20F9469CFC6C
_BEGINNINGS = (b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", b"L119547037146038801333356L\n.")
"""The magic number pickled with protocols 2 to 5, and with protocol 1."""
_MAGIC_WITHIN = 64
_VERSION = 1001
_COUNT_BYTES = 8
_DAMAGED = "is cut off or damaged: copy or download it again."


def looks_like_legacy(head: bytes) -> bool:
    """True if a file that starts with these bytes is in this format."""
    return any(beginning in head[:_MAGIC_WITHIN] for beginning in _BEGINNINGS)


def read_legacy(file: RegularFile, limits: Limits, wanted: str = "") -> WeightsFile:
    """Read the pickles at the start and locate the tensor data after them.

    Args:
        file: a file in this format.
        limits: files that exceed these are refused.
        wanted: which set of weights to take where there are several, as in SavedWeights.

    Raises:
        CheckpointError: when the file differs from what torch.save writes.
    """
    content = file.read(0, min(file.size, limits.max_header_bytes))
    try:
        magic = read_pickle(content, limits)
        version = read_pickle(content, limits, magic.end)
        machine = read_pickle(content, limits, version.end)
        if (magic.value, version.value) != (_MAGIC, _VERSION):
            raise CheckpointError(_DAMAGED)
        _check_byte_order(machine.value)
        unpickled = read_pickle(content, limits, machine.end)
        keys = read_pickle(content, limits, unpickled.end)
    except EndsEarlyError as error:
        if len(content) == file.size:
            raise
        raise CheckpointError(
            f"has pickles of more than {len(content):,} bytes before its numbers: save it again with "
            f"{SAVE_WEIGHTS}."
        ) from error
    saved = SavedWeights(unpickled.value, limits, wanted)
    blocks = _blocks(file, keys.value, dict(unpickled.storages), keys.end)
    return as_weights_file(file, saved, blocks, FORMAT)


def _check_byte_order(machine: Any) -> None:
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise CheckpointError(
            "has numbers in another byte order than little-endian: save it again with "
            f"{SAVE_WEIGHTS} on a PC."
        )


def _blocks(file: RegularFile, keys: Any, storages: dict[str, Storage], at: int) -> dict[str, Block]:
    """The location of each storage whose dtype is supported."""
    if not isinstance(keys, list):
        raise CheckpointError(_DAMAGED)
    blocks: dict[str, Block] = {}
    for key in keys:
        storage = storages.pop(key, None) if isinstance(key, str) else None
        if storage is None:
            raise CheckpointError(f"has a storage {shown(key)} twice, or that no tensor has: {_DAMAGED}")
        dtype = STORAGES.get(storage.kind)
        item_bytes = UNREAD_STORAGES[storage.kind] if dtype is None else ITEM_BYTES[dtype]
        count = int.from_bytes(file.read(at, _COUNT_BYTES), "little", signed=True)
        n_bytes = storage.n_items * item_bytes
        check_storage(storage, n_bytes, count * item_bytes)
        at += _COUNT_BYTES
        if at + n_bytes > file.size:
            raise CheckpointError(_DAMAGED)
        if dtype is not None:
            blocks[key] = Block(at, n_bytes, dtype)
        at += n_bytes
    for key in storages:
        raise lacking(key)
    if at != file.size:
        raise CheckpointError(f"has {file.size - at:,} more bytes after its last tensor: copy it again.")
    return blocks
