"""Files that are no checkpoint, or one of a kind that is not read, by how they begin."""

from __future__ import annotations

from transformer.checkpoints.reading.formats.pickle_values import SAVE_WEIGHTS

HEAD_BYTES = 512
"""How much of a file's beginning is enough."""

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

_BEGINNINGS = (
    # The long number that a file of PyTorch before 1.6 begins with, pickled with protocol 2.
    (
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
        "is in the format of torch.save before PyTorch 1.6",
        _AGAIN,
    ),
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it first"),
    (b"BZh", "is compressed with bzip2", "Unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz", "Unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "Unpack it first"),
    (b"PK\x05\x06", "is an empty zip archive", "Copy or download it again"),
    (b"GGUF", "is a GGUF file of llama.cpp", "Choose the safetensors files that it was made from"),
    (b"\x89HDF", "is an HDF5 file, of Keras perhaps", "Convert it to PyTorch or safetensors first"),
    (b"\x93NUMPY", "is an array of NumPy", "Save the weights with safetensors or torch.save instead"),
    (b"\x7fELF", "is a program, which nobody ran", "Choose a file of weights"),
    (b"MZ", "is a program, which nobody ran", "Choose a file of weights"),
    (b"\x08\x07\x12\x07pytorch", "is an ONNX file", "Choose the PyTorch weights that it was made from"),
)


def is_lfs_pointer(head: bytes) -> bool:
    """Whether a file is what Git leaves in the place of a large one."""
    return head.startswith(_LFS)


def describe(head: bytes) -> str | None:
    """What a file that begins so is and what to do, as the end of a sentence; None for a checkpoint."""
    if not head:
        return "is empty: copy or download it again."
    if is_lfs_pointer(head):
        return (
            "is a Git LFS pointer, which stands in the place of the file: run `git lfs pull` in its "
            "repository, or download the file itself."
        )
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(_MARKUP):
        return "is a web page, perhaps one that says why a download failed: open it, then download again."
    if start.startswith(_WORDS):
        return "is the answer of a server that did not send the file: open it, and download the file again."
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar" or start.startswith(b"sys_info\0"):
        return f"is a tar archive, as the first versions of PyTorch wrote them. {_AGAIN}."
    for beginning, kind, advice in _BEGINNINGS:
        if head.startswith(beginning):
            return f"{kind}, which is not read. {advice}."
    if start.startswith((b"{", b"[")):
        return "is JSON and holds no weights: choose the file of weights, or the folder that it lies in."
    if head[0] == 0x80 and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return f"is a bare pickle, which is code to be run; nothing of it was. {_AGAIN}."
    return None
