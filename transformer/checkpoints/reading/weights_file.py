"""One file of weights: what it is by its first bytes, then the reader of that format."""

from __future__ import annotations

from pathlib import Path

from transformer.checkpoints.reading.formats.safetensors_file import looks_like_safetensors, read_safetensors
from transformer.checkpoints.reading.formats.torch_file import read_torch
from transformer.checkpoints.reading.formats.unread import HEAD_BYTES, describe
from transformer.checkpoints.reading.formats.zip_file import ZIP_MAGIC
from transformer.checkpoints.reading.found import Found, check_sharing
from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.regular_file import Source, open_source
from transformer.errors import CheckpointError

SAFETENSORS, TORCH = "safetensors", "torch zip"


def read_weights(path: Path, limits: Limits) -> tuple[str, Found]:
    """Read the head of a file of weights: its format and its tensors.

    Raises:
        CheckpointError: says what it is instead, or what is wrong with it, as the rest of a sentence.
    """
    with open_source(path) as source:
        if limits.max_file_bytes is not None and source.size > limits.max_file_bytes:
            raise CheckpointError(
                f"has {source.size:,} bytes, where {limits.max_file_bytes:,} are allowed: choose a smaller "
                "model, or give its path to Headlight on the machine that has it."
            )
        return _read(source, limits)


def _read(source: Source, limits: Limits) -> tuple[str, Found]:
    head = source.read(0, min(HEAD_BYTES, source.size))
    if head.startswith(ZIP_MAGIC):
        found = read_torch(source, limits)
        check_sharing(found.tensors)
        return TORCH, found
    if looks_like_safetensors(head):
        return SAFETENSORS, read_safetensors(source, limits)
    instead = describe(head)
    if instead is not None:
        raise CheckpointError(instead)
    if source.path.suffix == ".safetensors":  # for its reader's sentence on what is wrong with it
        return SAFETENSORS, read_safetensors(source, limits)
    raise CheckpointError(
        "is neither safetensors nor a file of torch.save: choose a file of weights, or a model's folder."
    )
