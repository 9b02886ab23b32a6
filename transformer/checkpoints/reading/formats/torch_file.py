"""The format of torch.save since PyTorch 1.6: a zip with a pickle (data.pkl) and one entry per storage."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.checkpoints.reading.formats.pickles.machine import DAMAGED, read_pickle
from transformer.checkpoints.reading.formats.pickles.saved_weights import SavedWeights
from transformer.checkpoints.reading.formats.pickles.values import SAVE_WEIGHTS, STORAGES, Storage
from transformer.checkpoints.reading.formats.unread import describe_zip
from transformer.checkpoints.reading.formats.zip_file import ZipEntry, read_entries
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.raw import ITEM_BYTES, Block, TensorView, WeightsFile
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

PICKLE, BYTE_ORDER = "data.pkl", "byteorder"
_AGAIN = f"save it again with {SAVE_WEIGHTS}"

_MOST_SHARED = 4
"""How many names the same data may have on average; BART's embedding has this many."""
_SHARED_BYTES = 2**28
"""Total size in bytes up to which any number of tensors may share data."""


def read_torch(file: RegularFile, limits: Limits, wanted: str = "") -> WeightsFile:
    """Read the pickle in a torch.save archive and locate the tensor data.

    Args:
        file: the archive.
        limits: files that exceed these are refused.
        wanted: which set of weights to take where there are several, as in SavedWeights.

    Raises:
        CheckpointError: when the weights differ from how torch.save writes dense tensors.
    """
    entries = _of_torch(read_entries(file, limits))
    pickle = entries[PICKLE]
    if pickle.n_bytes > limits.max_header_bytes:
        raise CheckpointError(
            f"has a pickle of {pickle.n_bytes:,} bytes, where {limits.max_header_bytes:,} may be: {_AGAIN}."
        )
    if BYTE_ORDER in entries:
        _check_byte_order(entries[BYTE_ORDER], file)
    unpickled = read_pickle(pickle.read(file), limits)
    if unpickled.end != pickle.n_bytes:
        raise CheckpointError(DAMAGED)
    saved = SavedWeights(unpickled.value, limits, wanted)
    needed = {tensor.storage.key: tensor.storage for tensor in saved.tensors.values()}
    return as_weights_file(file, saved, {key: _block(needed[key], entries) for key in needed}, "torch zip")


def as_weights_file(
    file: RegularFile, saved: SavedWeights, blocks: Mapping[str, Block], form: str
) -> WeightsFile:
    """Combine a pickle's tensors with the location of their data.

    Args:
        file: the weights file.
        saved: its tensors.
        blocks: storage key -> location of its bytes, for every storage that the tensors need.
        form: the format, as in RawCheckpoint.

    Raises:
        CheckpointError: when too many tensors share the same data.
    """
    tensors = {
        name: TensorView(
            blocks[tensor.storage.key],
            tensor.start * ITEM_BYTES[blocks[tensor.storage.key].dtype],
            tensor.shape,
        )
        for name, tensor in saved.tensors.items()
    }
    _check_sharing(tensors)
    return WeightsFile(file.path, form, tensors, saved.extras, saved.left_out, saved.choices)


def _of_torch(entries: Mapping[str, ZipEntry]) -> dict[str, ZipEntry]:
    """The entries by their names inside the archive's single folder."""
    folders = {name.partition("/")[0] for name in entries if "/" in name}
    folder = next(iter(folders), "")
    inner = {name.removeprefix(f"{folder}/"): entry for name, entry in entries.items()}
    if len(folders) != 1 or len(inner) != len(entries) or PICKLE not in inner:
        raise CheckpointError(describe_zip(entries))
    return inner


def _check_byte_order(entry: ZipEntry, file: RegularFile) -> None:
    if entry.n_bytes > len("little") or entry.read(file) != b"little":
        raise CheckpointError(f"has numbers in another byte order than little-endian: {_AGAIN} on a PC.")


def _block(storage: Storage, entries: Mapping[str, ZipEntry]) -> Block:
    entry = entries.get(f"data/{storage.key}")
    if entry is None:
        raise lacking(storage.key)
    dtype = STORAGES[storage.kind]
    check_storage(storage, storage.n_items * ITEM_BYTES[dtype], entry.n_bytes)
    return Block(entry.offset, entry.n_bytes, dtype, entry.crc)


def lacking(key: str) -> CheckpointError:
    """The error for a file that lacks a storage's data."""
    return CheckpointError(f"lacks the numbers of storage {shown(key)}: copy or download it again.")


def check_storage(storage: Storage, due: int, n_bytes: int) -> None:
    """Refuse a storage whose size differs from the one in the pickle.

    Raises:
        CheckpointError: states both sizes.
    """
    if due != n_bytes:
        raise CheckpointError(
            f"says that storage {shown(storage.key)} has {due:,} bytes and has {n_bytes:,}: copy or save it "
            "again."
        )


def _check_sharing(tensors: Mapping[str, TensorView]) -> None:
    """Refuse a file that would grow without bounds once each tensor has its own copy of shared data.

    Embeddings and the output projection often share data, and in small models whole layers do.
    """
    stored = sum({view.block.offset: view.block.n_bytes for view in tensors.values()}.values())
    named = sum(view.n_bytes for view in tensors.values())
    if named > max(_MOST_SHARED * stored, _SHARED_BYTES):
        raise CheckpointError(
            f"has tensors of {named:,} bytes that share {stored:,} bytes of numbers: save it again with each "
            "shared tensor under one name."
        )
