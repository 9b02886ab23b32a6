"""Reads sentencepiece models without the library: pieces, scores and settings.

A file is a Protocol Buffers message. https://protobuf.dev/programming-guides/encoding/ and
https://github.com/google/sentencepiece/blob/v0.2.0/src/sentencepiece_model.proto
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from transformer.errors import CheckpointError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2
MAX_PIECES = 2_000_000
_LONGEST_VARINT = 10
_SCORE = struct.Struct("<f")
_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
_DAMAGED = "is no sentencepiece model, or a damaged one: copy or download it again."

Value = int | bytes
"""A field's value: an integer, or the bytes of a text, a message or a float."""


class Piece(NamedTuple):
    """A piece with its score (log-probability or rank) and its kind (NORMAL to BYTE)."""

    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class PieceModel:
    """The contents of a sentencepiece model.

    Attributes:
        pieces: pieces in the order of their ids.
        algorithm: UNIGRAM or BPE.
        unk_id: id of the unknown piece.
        charsmap: character normalization in the library's own format; empty for none.
    """

    pieces: tuple[Piece, ...]
    algorithm: int
    unk_id: int
    charsmap: bytes


def read_piece_model(content: bytes) -> PieceModel:
    """Read a sentencepiece model.

    Raises:
        CheckpointError: when it is not one, or its algorithm is not unigram or BPE; the message continues a
            sentence that begins with the file's name.
    """
    pieces: list[Piece] = []
    algorithm, unk_id, charsmap = UNIGRAM, 0, b""
    for number, value in _fields(content):
        if number == _PIECE:
            pieces.append(_piece(_bytes(value)))
            if len(pieces) > MAX_PIECES:
                raise CheckpointError(f"has more than {MAX_PIECES:,} pieces: it is no tokenizer's.")
        elif number == _TRAINER:
            trainer = dict(_fields(_bytes(value)))
            algorithm, unk_id = _integer(trainer.get(3, algorithm)), _integer(trainer.get(40, unk_id))
        elif number == _NORMALIZER:
            charsmap = _bytes(dict(_fields(_bytes(value))).get(2, b""))
    if algorithm not in (UNIGRAM, BPE):
        raise CheckpointError("is a sentencepiece model of whole words or characters, which is not read.")
    if not 0 <= unk_id < len(pieces):
        raise CheckpointError(_DAMAGED)
    return PieceModel(tuple(pieces), algorithm, unk_id, charsmap)


def _piece(content: bytes) -> Piece:
    fields = dict(_fields(content))
    text, score = _bytes(fields.get(1, b"")), _bytes(fields.get(2, bytes(4)))
    if len(score) != _SCORE.size:
        raise CheckpointError(_DAMAGED)
    (number,) = _SCORE.unpack(score)
    if not math.isfinite(number):
        raise CheckpointError(_DAMAGED)
    try:
        return Piece(text.decode(), number, _integer(fields.get(3, NORMAL)))
    except UnicodeDecodeError as error:
        raise CheckpointError(_DAMAGED) from error


def _fields(content: bytes) -> Iterator[tuple[int, Value]]:
    """Field numbers and values of a message, in order."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        number, wire = key >> 3, key & 7
        value: Value
        if wire == 0:
            value, at = _varint(content, at)
        else:
            if wire == 2:
                size, at = _varint(content, at)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
            else:
                raise CheckpointError(_DAMAGED)
            value = content[at : at + size]
            at += size
            if at > len(content):
                raise CheckpointError(_DAMAGED)
        yield number, value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A varint (7 bits per byte, lowest first), and the offset after it."""
    if at < len(content) and content[at] < 0x80:  # fast path for nearly all numbers
        return content[at], at + 1
    number = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(content):
            break
        byte = content[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise CheckpointError(_DAMAGED)


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise CheckpointError(_DAMAGED)
    return value


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise CheckpointError(_DAMAGED)
    return value
