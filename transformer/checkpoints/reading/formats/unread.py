"""Recognises files that are not checkpoints, or in an unsupported format, by their first bytes or name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from transformer.checkpoints.reading.formats.pickles.values import SAVE_WEIGHTS

HEAD_BYTES = 512
"""Number of leading bytes examined."""

_TAR_MAGIC_AT = 257
_AGAIN = f"Open it where it was made and save it again with {SAVE_WEIGHTS}"
_LFS = b"version https://git-lfs.github.com/"
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<!--")
_WORDS = (
    b"entry not found",
    b"repository not found",
    b"invalid username",
    b"access to",
    b"not found",
    b'{"error',
)

_CONVERT = (
    "Convert it to PyTorch first: with transformers 4, from_pretrained(folder, {}=True), then save_pretrained"
)
_TENSORFLOW = _CONVERT.format("from_tf")
_FLAX = _CONVERT.format("from_flax")
_ORIGINAL = "Choose the PyTorch or safetensors weights that it was made from"
_PYTORCH = "Convert it to PyTorch or safetensors first"

_BEGINNINGS = (
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it first"),
    (b"BZh", "is compressed with bzip2", "Unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "Unpack it first"),
    (b"PK\x05\x06", "is an empty zip archive", "Copy or download it again"),
    (b"GGUF", "is a GGUF file of llama.cpp", "Choose the safetensors files that it was made from"),
    (b"\x89HDF", "is an HDF5 file, of Keras perhaps", _PYTORCH),
    (b"\x93NUMPY", "is an array of NumPy", "Save the weights with safetensors or torch.save instead"),
    (b"\x7fELF", "is a program, which nobody ran", "Choose a file of weights"),
    (b"MZ", "is a program, which nobody ran", "Choose a file of weights"),
    (b"\x08\x07\x12\x07pytorch", "is an ONNX file", _ORIGINAL),
    (b"model_checkpoint_path:", "is the list of TensorFlow's checkpoints", _TENSORFLOW),
)

ENDINGS = {
    ".index": ("is the index of a TensorFlow checkpoint", _TENSORFLOW),
    ".meta": ("is the graph of a TensorFlow checkpoint", _TENSORFLOW),
    ".pb": ("is a graph of TensorFlow, of a SavedModel perhaps", _TENSORFLOW),
    ".h5": ("is a file of Keras", _TENSORFLOW),
    ".keras": ("is a file of Keras", _PYTORCH),
    ".tflite": ("is a TensorFlow Lite file", _ORIGINAL),
    ".msgpack": ("is a file of Flax", _FLAX),
    ".onnx": ("is an ONNX file", _ORIGINAL),
    ".mlmodel": ("is a Core ML file", _ORIGINAL),
    ".mlpackage": ("is a Core ML package", _ORIGINAL),
    ".gguf": ("is a GGUF file of llama.cpp", "Choose the safetensors files that it was made from"),
    ".ot": ("is a file of rust-bert", _ORIGINAL),
}
"""File endings of unsupported model formats -> what the file is, and what to do."""

_TENSORFLOW_DATA = re.compile(r"\.data-\d{5}-of-\d{5}$")


def describe_name(name: str) -> tuple[str, str] | None:
    """Describe a file or folder by its name, with advice; None for supported or unknown formats."""
    if _TENSORFLOW_DATA.search(name):
        return "holds the numbers of a TensorFlow checkpoint", _TENSORFLOW
    return next((said for ending, said in ENDINGS.items() if name.lower().endswith(ending)), None)


def describe_zip(names: Collection[str]) -> str:
    """Describe a zip archive not written by torch.save by its entries, with advice."""
    if "model.weights.h5" in names:
        return f"is a file of Keras, which is not read. {_PYTORCH}."
    return f"is a zip archive that torch.save did not write: unpack it, or save it again with {SAVE_WEIGHTS}."


def is_lfs_pointer(head: bytes) -> bool:
    """True if a file is a Git LFS pointer instead of the file itself."""
    return head.startswith(_LFS)


def describe(head: bytes, name: str = "") -> str | None:
    """Describe an unsupported file, with advice, as a sentence without its subject; None for a checkpoint.

    Args:
        head: its first bytes.
        name: its name, for formats without fixed first bytes.
    """
    if not head:
        return "is empty: copy or download it again."
    if is_lfs_pointer(head):
        return (
            "is a Git LFS pointer, not the file itself: run `git lfs pull` in its "
            "repository, or download the file itself."
        )
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(_MARKUP):
        return "is a web page, perhaps one that says why a download failed: open it, then download again."
    if start.startswith(_WORDS):
        return "is the answer of a server that did not send the file: open it, and download the file again."
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar" or start.startswith(b"sys_info\0"):
        return f"is a tar archive, as the first versions of PyTorch wrote them. {_AGAIN}."
    for kind, advice in _known(head, name):
        return f"{kind}, which is not read. {advice}."
    if start.startswith((b"{", b"[")):
        return "is JSON and holds no weights: choose the file of weights, or the folder that it is in."
    if head[0] == 0x80 and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return f"is a bare pickle, which is code to be run; nothing of it was. {_AGAIN}."
    return None


def _known(head: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Descriptions and advice: by the first bytes, then by the name."""
    for beginning, kind, advice in _BEGINNINGS:
        if head.startswith(beginning):
            yield kind, advice
    by_name = describe_name(name)
    if by_name is not None:
        yield by_name
