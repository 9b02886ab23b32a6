"""What torch.save writes since PyTorch 1.6: a zip with a pickle (data.pkl) and an entry for each storage."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.reading.formats.pickle_machine import read_pickle
from transformer.checkpoints.reading.formats.pickle_values import SAVE_WEIGHTS, Storage
from transformer.checkpoints.reading.formats.zip_file import Entry, read_entries
from transformer.checkpoints.reading.found import Block, Found, Placed
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.raw import ITEM_BYTES
from transformer.checkpoints.reading.regular_file import Source, shown
from transformer.checkpoints.reading.trainers import Sorted
from transformer.errors import CheckpointError

PICKLE, BYTE_ORDER = "data.pkl", "byteorder"
_AGAIN = f"save it again with {SAVE_WEIGHTS}"


def read_torch(source: Source, limits: Limits) -> Found:
    """Read the pickle of an archive of torch.save and find the bytes of its tensors.

    Raises:
        CheckpointError: when anything in it is not as torch.save writes a dictionary of dense tensors.
    """
    entries = _of_torch(read_entries(source, limits))
    pickle = entries[PICKLE]
    if pickle.n_bytes > limits.max_header_bytes:
        raise CheckpointError(
            f"has a pickle of {pickle.n_bytes:,} bytes, where {limits.max_header_bytes:,} may be: {_AGAIN}."
        )
    if BYTE_ORDER in entries:
        _check_byte_order(entries[BYTE_ORDER], source)
    found = Sorted(read_pickle(pickle.read(source), limits), limits)
    blocks: dict[str, Block] = {}
    tensors = {}
    for name, tensor in found.tensors.items():
        storage = tensor.storage
        if storage.key not in blocks:
            blocks[storage.key] = _block(storage, entries)
        tensors[name] = Placed(blocks[storage.key], tensor.start * ITEM_BYTES[storage.dtype], tensor.shape)
    return Found(tensors, found.extras, found.left_out)


def _of_torch(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The entries by their names inside the one folder that an archive of torch.save has."""
    folders = {name.partition("/")[0] for name in entries if "/" in name}
    folder = next(iter(folders), "")
    inner = {name.removeprefix(f"{folder}/"): entry for name, entry in entries.items()}
    if len(folders) != 1 or len(inner) != len(entries) or PICKLE not in inner:
        raise CheckpointError(f"is a zip archive that torch.save did not write: unpack it, or {_AGAIN}.")
    return inner


def _check_byte_order(entry: Entry, source: Source) -> None:
    if entry.n_bytes > len("little") or entry.read(source) != b"little":
        raise CheckpointError(f"has numbers in another byte order than little-endian: {_AGAIN} on a PC.")


def _block(storage: Storage, entries: Mapping[str, Entry]) -> Block:
    entry = entries.get(f"data/{storage.key}")
    if entry is None:
        raise CheckpointError(
            f"lacks the numbers of storage {shown(storage.key)}: copy or download it again."
        )
    due = storage.n_items * ITEM_BYTES[storage.dtype]
    if due != entry.n_bytes:
        raise CheckpointError(
            f"says that storage {shown(storage.key)} has {due:,} bytes and has {entry.n_bytes:,}: copy or "
            "save it again."
        )
    return Block(entry.offset, entry.n_bytes, storage.dtype, entry.crc)
