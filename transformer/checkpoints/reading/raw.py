"""The contents of any model's checkpoint: tensors in files, and small files."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformer.errors import CheckpointError

LAYER_NUMBER = "(0|[1-9][0-9]{0,4})"
"""Regular expression for a layer's number in a tensor name."""

BESIDE = "adapter_model/"
"""Prefix to the names of tensors from an adapter's file next to the model's weights."""

Texts = Mapping[str, str | bytes]
"""A folder's small files: name -> content."""

ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
"""Supported dtypes, by safetensors' names -> bytes per item."""


@dataclass(frozen=True)
class Block:
    """A contiguous block of a file's bytes.

    Attributes:
        offset: position of the first byte.
        n_bytes: total size.
        dtype: item type, a key of ITEM_BYTES.
        crc: CRC-32; None if the format has none.
    """

    offset: int
    n_bytes: int
    dtype: str
    crc: int | None = None


@dataclass(frozen=True)
class TensorView:
    """A dense row-major tensor in a file, whose items begin `start` bytes into a block."""

    block: Block
    start: int
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Total size of the items in bytes."""
        return math.prod(self.shape) * ITEM_BYTES[self.block.dtype]


@dataclass(frozen=True)
class WeightsFile:
    """The tensors of one weights file; the other fields are as in RawCheckpoint."""

    path: Path
    format: str
    tensors: Mapping[str, TensorView]
    extras: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoredTensor:
    """A dense tensor in a file: row-major, little-endian, contiguous.

    Attributes:
        name: name in the checkpoint.
        dtype: a key of ITEM_BYTES.
        shape: no size is zero; () for a single number.
        path: its file.
        offset: position of its first byte in that file.
        n_bytes: total size.
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
        path: the chosen path.
        format: "safetensors", "torch zip", "torch before 1.6", each followed by " shards" for several files;
            "npz"; or "headlight".
        tensors: by name, in the checkpoint's order.
        aliases: name of a tensor -> name of an earlier one with the same bytes in the file (tied weights).
            Both are in `tensors`.
        extras: other values that the trainer saved, such as the epoch: text, numbers, None, and lists and
            dictionaries of them.
        left_out: key of tensors that are not model weights, such as "optimizer" -> their number.
        texts: name -> content of the folder's small files (configuration, vocabulary, tokenizer); bytes for
            sentencepiece models. Empty when a single file was chosen.
        n_bytes: total size of all tensors.
        files: the weights files, in order.
        choices: keys of a trainer's dictionary that contain weights with the same names and shapes (such as
            the model's and their average), the likeliest first; `tensors` has those of one key. Empty without
            a choice.
    """

    path: Path
    format: str
    tensors: Mapping[str, StoredTensor]
    aliases: Mapping[str, str]
    extras: Mapping[str, Any]
    left_out: Mapping[str, int]
    texts: Texts
    n_bytes: int
    files: tuple[Path, ...]
    choices: tuple[str, ...] = field(default=(), kw_only=True)

    def json(self, name: str) -> dict[str, Any]:
        """The JSON object in one of `texts`; empty if there is no such file.

        Raises:
            CheckpointError: when the file contains something else.
        """
        return json_object(self.texts, name)

    def layer_count(self, prefix: str) -> int:
        """The highest layer number after a prefix such as "encoder.layers.", plus 1; 0 if there is none."""
        number = re.compile(re.escape(prefix) + LAYER_NUMBER + r"\.")
        found = map(number.match, self.tensors)
        return max((int(match[1]) + 1 for match in found if match), default=0)

    def same_numbers(self, one: str, other: str) -> bool:
        """True if both names exist and refer to the same bytes of the file."""
        if one not in self.tensors or other not in self.tensors:
            return False
        first, second = self.tensors[one].name, self.tensors[other].name
        return self.aliases.get(first, first) == self.aliases.get(second, second)

    def to_plain(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        homes = list(dict.fromkeys(stored.path for stored in self.tensors.values()))
        number = {home: index for index, home in enumerate(homes)}
        return vars(self) | {
            "path": str(self.path),
            "homes": list(map(str, homes)),
            "tensors": [
                [name, stored.dtype, stored.shape, number[stored.path], stored.offset, stored.n_bytes]
                for name, stored in self.tensors.items()
            ],
            "texts": to_plain_texts(self.texts),
            "files": list(map(str, self.files)),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> RawCheckpoint:
        """The inverse of `to_plain`."""
        values = dict(plain)
        homes = list(map(Path, values.pop("homes")))
        values["path"] = Path(values["path"])
        values["files"] = tuple(map(Path, values["files"]))
        values["choices"] = tuple(values["choices"])
        values["texts"] = from_plain_texts(values["texts"])
        values["tensors"] = {
            name: StoredTensor(name, dtype, tuple(shape), homes[home], offset, n_bytes)
            for name, dtype, shape, home, offset, n_bytes in values["tensors"]
        }
        return cls(**values)


def json_object(texts: Texts, name: str) -> dict[str, Any]:
    """Read the JSON object in a file; empty if there is no such file.

    Raises:
        CheckpointError: when the file contains something else.
    """
    return parsed_object(texts.get(name, "{}"), name)


def parsed_object(
    text: str | bytes, what: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        text: its text, in UTF-8 if it is bytes.
        what: the beginning of an error's sentence: "config.json".
        hook: makes an object from its names and values, as in `json.loads`.

    Raises:
        CheckpointError: when the text is something else.
    """
    try:
        values = json.loads(text if isinstance(text, str) else text.decode(), object_pairs_hook=hook)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):  # of the hook
            raise
        raise CheckpointError(f"{what} is no valid JSON: copy or download it again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{what} holds no JSON object: copy or download it again.")
    return values


def to_plain_texts(texts: Texts) -> dict[str, dict[str, str]]:
    """Convert a folder's small files to plain values for JSON."""
    return {
        name: {"text": content}
        if isinstance(content, str)
        else {"base64": base64.b64encode(content).decode()}
        for name, content in texts.items()
    }


def from_plain_texts(plain: Mapping[str, Mapping[str, str]]) -> dict[str, str | bytes]:
    """The inverse of `to_plain_texts`."""
    return {
        name: content["text"] if "text" in content else base64.b64decode(content["base64"])
        for name, content in plain.items()
    }
