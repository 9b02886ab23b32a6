"""What a checkpoint holds, before anyone knows which model it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.errors import CheckpointError

ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
"""The kinds of numbers that are read, in safetensors' words, and the bytes that one takes."""


@dataclass(frozen=True)
class StoredTensor:
    """A dense tensor in a file: row-major, little-endian, its bytes one after the other.

    Attributes:
        name: in the checkpoint.
        dtype: a key of ITEM_BYTES.
        shape: no size is zero; () for a single number.
        path: of the file that holds it.
        offset: of its first byte in that file.
        n_bytes: that it takes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    path: Path
    offset: int
    n_bytes: int


@dataclass(frozen=True)
class RawCheckpoint:
    """The tensors and small files of a checkpoint.

    Attributes:
        path: that was chosen.
        format: "safetensors", "safetensors shards", "torch zip", "torch zip shards" or "headlight".
        tensors: by name, in the checkpoint's order.
        aliases: name of a tensor -> name of an earlier one that is the very same numbers in the file
            (tied weights). Both are in `tensors`.
        extras: what else a trainer saved, such as the epoch: text, numbers, None, and lists and dictionaries
            of them.
        left_out: where tensors were that are no weights of the model, such as "optimizer" -> how many.
        texts: name -> content of the folder's small files (configuration, vocabulary, tokenizer); bytes for
            sentencepiece models. Empty when a single file was chosen.
        n_bytes: of all tensors.
        files: the files of weights that were read, in their order.
    """

    path: Path
    format: str
    tensors: Mapping[str, StoredTensor]
    aliases: Mapping[str, str]
    extras: Mapping[str, Any]
    left_out: Mapping[str, int]
    texts: Mapping[str, str | bytes]
    n_bytes: int
    files: tuple[Path, ...]

    def json(self, name: str) -> dict[str, Any]:
        """The JSON object in one of `texts`; empty when there is no such file.

        Raises:
            CheckpointError: when the file holds anything else.
        """
        try:
            values = json.loads(self.texts.get(name, "{}"))
        except (ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{self.path / name} is no valid JSON ({error}): copy or save it again."
            ) from error
        if not isinstance(values, dict):
            raise CheckpointError(f"{self.path / name} holds no JSON object: copy or save it again.")
        return values
