"""sentencepiece's files are read as its own library reads them, and damaged ones are refused."""

from __future__ import annotations

import random

import pytest
import sentencepiece

from tests.transformer.checkpoints.tokenizers.folders import CORPUS, sentence_pieces
from transformer.checkpoints.tokenizers.piece_model import (
    BPE,
    BYTE,
    CONTROL,
    UNIGRAM,
    UNKNOWN,
    USER_DEFINED,
    read_piece_model,
)
from transformer.errors import CheckpointError

UNIGRAM_MODEL = sentence_pieces(
    "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols="<x>"
)
BPE_MODEL = sentence_pieces("bpe", byte_fallback=True, normalization_rule_name="identity")


@pytest.mark.parametrize("content", [UNIGRAM_MODEL, BPE_MODEL])
def test_pieces_scores_and_kinds_are_the_librarys(content: bytes) -> None:
    model = read_piece_model(content)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
    assert [piece.text for piece in model.pieces] == [theirs.id_to_piece(n) for n in range(len(theirs))]
    assert [piece.score for piece in model.pieces] == [theirs.get_score(n) for n in range(len(theirs))]
    assert model.unk_id == theirs.unk_id()
    for index, piece in enumerate(model.pieces):
        assert (piece.kind == CONTROL) == theirs.is_control(index)
        assert (piece.kind == UNKNOWN) == theirs.is_unknown(index)
        assert (piece.kind == BYTE) == theirs.is_byte(index)


def test_the_settings_are_read() -> None:
    unigram, bpe = read_piece_model(UNIGRAM_MODEL), read_piece_model(BPE_MODEL)
    assert (unigram.algorithm, bpe.algorithm) == (UNIGRAM, BPE)
    assert (unigram.unk_id, bpe.unk_id) == (2, 0)
    assert len(unigram.charsmap) > 1000
    assert bpe.charsmap == b""
    assert [piece.text for piece in unigram.pieces if piece.kind == USER_DEFINED] == ["<x>"]


@pytest.mark.parametrize(
    "content, why",
    [
        (b"", "damaged"),
        (b"<!doctype html><html>", "damaged"),
        (b"version https://git-lfs.github.com/spec/v1\n", "damaged"),
        (UNIGRAM_MODEL[:-1], "damaged"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "damaged"),
        (b"\x0a\x80", "damaged"),
        (b"\x0a\x02\x08\x01", "damaged"),
        (b"\x0a\x03\x0a\x01\xff", "damaged"),
        (b"\x0a\x08\x0a\x01a\x15\x00\x00\x80\x7f", "damaged"),
        (b"\x0a\x03\x0a\x01a\x12\x02\x18\x03", "words or characters"),
        (b"\x0a\x03\x0a\x01a\x12\x03\xc0\x02\x07", "damaged"),
        (b"\x0b", "damaged"),
    ],
)
def test_anything_else_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(CheckpointError, match=why):
        read_piece_model(content)


def test_a_changed_file_is_read_or_refused() -> None:
    drawn = random.Random(11)
    small = sentence_pieces("unigram", normalization_rule_name="identity", corpus=CORPUS[:1], size=40)
    outcomes = set()
    for _ in range(1500):
        content = bytearray(small)
        for _ in range(drawn.randrange(1, 4)):
            content[drawn.randrange(len(content))] = drawn.randrange(256)
        try:
            read_piece_model(bytes(content))
            outcomes.add("read")
        except CheckpointError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
