"""One file of weights: what it is by its first bytes, then the reader of that format."""

from __future__ import annotations

from pathlib import Path

from transformer.checkpoints._files import CheckpointError
from transformer.checkpoints.reading.found import Found
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.safetensors_file import looks_like_safetensors, read_safetensors
from transformer.checkpoints.reading.source import Source, open_source
from transformer.checkpoints.reading.torch_file import read_torch
from transformer.checkpoints.reading.zip_file import ZIP_MAGIC

SAFETENSORS, TORCH = "safetensors", "torch zip"
_HEAD = 512
_AGAIN = "load it where it was made and save the weights with torch.save(model.state_dict(), 'weights.pt')"

_KINDS = (
    (
        b"version https://git-lfs",
        "is a Git LFS pointer and not the file itself: fetch it with `git lfs pull`.",
    ),
    (b"\x80", f"is a pickle, or was saved by a PyTorch older than 1.6; nothing of it was run: {_AGAIN}."),
    (b"GGUF", "is a GGUF file, which is not read: choose the model's safetensors."),
    (b"\x89HDF", "is an HDF5 file (Keras), which is not read: choose the model's PyTorch weights."),
    (b"\x93NUMPY", "is a NumPy array, which is not read: save the weights with safetensors or torch.save."),
    (b"\x1f\x8b", "is packed by gzip: unpack it first."),
    (b"BZh", "is packed by bzip2: unpack it first."),
    (b"\xfd7zXZ", "is packed by xz: unpack it first."),
    (b"7z\xbc\xaf", "is packed by 7-Zip: unpack it first."),
    (b"Rar!", "is packed by RAR: unpack it first."),
    (b"\x7fELF", "is a program; nothing of it was run. Choose a file of weights."),
    (b"MZ", "is a program; nothing of it was run. Choose a file of weights."),
)
"""What files begin with that are chosen by mistake, and what to do instead."""


def read_weights(path: Path, limits: Limits) -> tuple[str, Found, int]:
    """Read the head of a file of weights: its format, its tensors, its size.

    Raises:
        CheckpointError: says what it is instead, or what is wrong with it.
    """
    try:
        with open_source(path) as source:
            if limits.max_file_bytes is not None and source.size > limits.max_file_bytes:
                raise CheckpointError(
                    f"has {source.size:,} bytes, where {limits.max_file_bytes:,} are allowed: choose a "
                    "smaller model, or run Headlight on the machine that has the file and give its path."
                )
            name, found = _read(source, limits)
            return name, found, source.size
    except CheckpointError as error:
        raise CheckpointError(f"{path.name} {error}") from error


def _read(source: Source, limits: Limits) -> tuple[str, Found]:
    if source.size == 0:
        raise CheckpointError("is empty: copy or download it again.")
    head = source.read(0, min(_HEAD, source.size))
    if head.startswith(ZIP_MAGIC):
        return TORCH, read_torch(source, limits)
    if looks_like_safetensors(head):
        return SAFETENSORS, read_safetensors(source, limits)
    raise CheckpointError(_what_else(head))


def _what_else(head: bytes) -> str:
    for beginning, words in _KINDS:
        if head.startswith(beginning):
            return words
    if head[257:262] == b"ustar":
        return f"is a tar archive, or was saved by a PyTorch older than 0.1.10: unpack it, or {_AGAIN}."
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "is a web page, as a failed download leaves it: download the file again."
    if text.startswith((b"{", b"[")):
        return "is a JSON file and holds no weights: choose the whole folder or the file of weights."
    return "is neither safetensors nor a file of torch.save: choose a file of weights, or a model's folder."
