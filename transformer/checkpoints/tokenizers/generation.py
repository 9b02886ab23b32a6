"""Where a model's sentences begin and end: config.json and generation_config.json of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.reading.raw import Texts, json_object

_START = "decoder_start_token_id"
STARTS = {"bart": 2, "t5": 0}
"""Family -> what its decoders were trained to begin with, where no file says it: BART's </s>, T5's padding.

Marian's begin with the last id of their vocabulary and mBART's with a language, so no number is true of all.
"""


@dataclass(frozen=True)
class Generation:
    """The ids of a model's sentences; those outside of its vocabulary are left out.

    Attributes:
        start: what a decoder that has a source begins with.
        ends: what ends a sentence.
        pad, bos: of the model's configuration, where it names them.
        never: what no generated sentence goes on with.
    """

    start: tuple[int, ...]
    ends: tuple[int, ...]
    pad: int | None
    bos: int | None
    never: tuple[int, ...]


def read_generation(texts: Texts, rows: int, family: str) -> Generation:
    """Read the ids; those of generation_config.json go before those of config.json.

    Args:
        texts: the folder's small files.
        rows: of the model's embedding.
        family: of the model.

    Raises:
        CheckpointError: for a file that is no JSON object.
    """
    usual = {_START: STARTS[family]} if family in STARTS else {}
    values = usual | json_object(texts, "config.json")  # one that says null has no start of its own
    values |= {
        name: value
        for name, value in json_object(texts, "generation_config.json").items()
        if value is not None
    }

    def ids(name: str) -> tuple[int, ...]:
        return tuple(index for index in _as_list(values.get(name)) if _is_id(index, rows))

    begin = ids(_START) or ids("bos_token_id")
    banned = [sequence[0] for sequence in _as_list(values.get("bad_words_ids")) if _is_single(sequence, rows)]
    return Generation(
        start=(*begin[:1], *ids("forced_bos_token_id")[:1]),
        ends=ids("eos_token_id"),
        pad=next(iter(ids("pad_token_id")), None),
        bos=next(iter(ids("bos_token_id")), None),
        never=tuple(dict.fromkeys((*banned, *ids("suppress_tokens")))),
    )


def _as_list(value: Any) -> list[Any]:
    if value is None or isinstance(value, Mapping):
        return []
    return value if isinstance(value, list) else [value]


def _is_id(value: object, rows: int) -> bool:
    return type(value) is int and 0 <= value < rows


def _is_single(sequence: object, rows: int) -> bool:
    return isinstance(sequence, list) and len(sequence) == 1 and _is_id(sequence[0], rows)
