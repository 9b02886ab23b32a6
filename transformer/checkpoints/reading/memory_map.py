"""Memory-maps tensors in files as PyTorch tensors, with one mapping per file."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from transformer.checkpoints.reading.raw import StoredTensor
from transformer.errors import CheckpointError

if TYPE_CHECKING:
    from torch import Tensor

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "U8": "uint8",
    "BOOL": "bool",
}

# A mapping lives as long as any tensor in it. One per file, because each keeps its file open.
_mappings: WeakValueDictionary[tuple[Path, int, int], mmap.mmap] = WeakValueDictionary()
_lock = threading.Lock()


def map_tensor(stored: StoredTensor) -> Tensor:
    """Map a tensor into memory in its stored dtype without copying: (*shape).

    The mapping is copy-on-write: the file is never written. Unaligned tensors are copied.

    Raises:
        CheckpointError: when the file is gone or was truncated.
    """
    import torch  # only here: layouts rarely need tensor data and are recognised without torch

    try:
        mapping = _mapping(stored.path)
    except (OSError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{stored.path} can't be read any more ({error}): open it again.") from error
    if stored.offset + stored.n_bytes > len(mapping):
        raise CheckpointError(f"{stored.path} has become shorter since it was looked at: open it again.")
    found = torch.frombuffer(mapping, dtype=torch.uint8, offset=stored.offset, count=stored.n_bytes)
    dtype: torch.dtype = getattr(torch, _DTYPES[stored.dtype])
    if stored.offset % dtype.itemsize:  # not in Headlight's own files; PyTorch can't view these
        found = found.clone()
    return found.view(dtype).view(stored.shape)


def _mapping(path: Path) -> mmap.mmap:
    with _lock, path.open("rb") as file:
        stat = path.stat()
        key = path, stat.st_ino, stat.st_mtime_ns
        mapping = _mappings.get(key)
        if mapping is None:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            _mappings[key] = mapping
        return mapping
