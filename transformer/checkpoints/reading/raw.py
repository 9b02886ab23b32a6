"""What a checkpoint holds, before anyone knows which model it is: tensors in files, and small files."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformer.errors import CheckpointError

LAYER_NUMBER = "(0|[1-9][0-9]{0,4})"
"""What stands for a layer in the name of a tensor; a regular expression."""

Texts = Mapping[str, str | bytes]
"""The small files of a folder: name -> content."""

ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
"""The kinds of numbers that are read, in safetensors' words, and the bytes that one takes."""


@dataclass(frozen=True)
class Block:
    """Bytes of a file that belong together.

    Attributes:
        offset: of the first.
        n_bytes: in all.
        dtype: of the items in them, a key of ITEM_BYTES.
        crc: their CRC-32; None where the format has none.
    """

    offset: int
    n_bytes: int
    dtype: str
    crc: int | None = None


@dataclass(frozen=True)
class TensorView:
    """A dense row-major tensor in a file: its items begin `start` bytes into a block."""

    block: Block
    start: int
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """The bytes that its items take."""
        return math.prod(self.shape) * ITEM_BYTES[self.block.dtype]


@dataclass(frozen=True)
class WeightsFile:
    """Where one file of weights has its tensors; the other fields are as in RawCheckpoint."""

    path: Path
    format: str
    tensors: Mapping[str, TensorView]
    extras: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


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
        format: "safetensors", "torch zip", "torch before 1.6", each with " shards" after it for several
            files; "npz"; or "headlight".
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
        choices: keys of a trainer's dictionary under which there are weights of the same names and shapes
            (the model's and their average), the likeliest first; `tensors` are those of one. Empty without.
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
        """The JSON object in one of `texts`; empty when there is no such file.

        Raises:
            CheckpointError: when the file holds anything else.
        """
        return json_object(self.texts, name)

    def layer_count(self, prefix: str) -> int:
        """One more than the highest layer's number after a prefix such as "encoder.layers."; 0 for none."""
        number = re.compile(re.escape(prefix) + LAYER_NUMBER + r"\.")
        found = map(number.match, self.tensors)
        return max((int(match[1]) + 1 for match in found if match), default=0)

    def same_numbers(self, one: str, other: str) -> bool:
        """Whether both names are there and stand for the same numbers of the file."""
        if one not in self.tensors or other not in self.tensors:
            return False
        first, second = self.tensors[one].name, self.tensors[other].name
        return self.aliases.get(first, first) == self.aliases.get(second, second)

    def to_plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
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
    """Read the JSON object in a file; an empty one where there is no such file.

    Raises:
        CheckpointError: when it holds anything else.
    """
    try:
        values = json.loads(texts.get(name, "{}"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{name} is no valid JSON ({error}): copy or save it again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{name} holds no JSON object: copy or save it again.")
    return values


def to_plain_texts(texts: Texts) -> dict[str, dict[str, str]]:
    """A folder's small files as JSON has them."""
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
