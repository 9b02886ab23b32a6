"""The words that tokens belong to, and how tokens are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from transformer.checkpoints.tokenizers.words import words_of_pieces, words_of_text
from transformer.text.spelling import byte_of_character, legible


@pytest.mark.parametrize(
    "text, starts, words, word_of",
    [
        ("", [], [], []),
        ("   ", [0], ["   "], [0]),
        ("", [0], [""], [0]),
        ("a cat", [0, 1], ["a", "cat"], [0, 1]),
        ("a cat", [0, 1, 2, 3], ["a", "cat"], [0, 1, 1, 1]),
        ("the (cat)...", [0, 3, 5, 8, 9, 10], ["the", "(", "cat", ")", "..."], [0, 1, 2, 3, 4, 4]),
        ("(cat)...", [0, 3], ["(", "cat)..."], [0, 1]),
        ("l'amica don't", [0, 1, 2, 8], ["l'amica", "don't"], [0, 0, 0, 1]),
        ("one two three", [0, 8], ["one two", "three"], [0, 1]),
        ("one two", [4], ["one two"], [0]),
        ("a b ", [0, 1, 3], ["a", "b"], [0, 1, 1]),
    ],
)
def test_words_of_typed_text(text: str, starts: list[int], words: list[str], word_of: list[int]) -> None:
    assert words_of_text(text, starts) == (words, word_of)


@pytest.mark.parametrize(
    "pieces, words, word_of",
    [
        ([], [], []),
        ([b" ca", b"t", b" sees"], ["cat", "sees"], [0, 0, 1]),
        ([b"\xf0\x9f", b"\xa6\x9d", b" x"], ["🦝", "x"], [0, 0, 1]),
        ([b"\xff", b"a"], ["\ufffda"], [0, 0]),
        ([b" </s> ", b"x"], ["</s>", "x"], [0, 1]),
        ([b"", b""], [""], [0, 0]),
        ([b"a", b" "], ["a"], [0, 0]),
    ],
)
def test_words_of_tokens(pieces: list[bytes], words: list[str], word_of: list[int]) -> None:
    assert words_of_pieces(pieces) == (words, word_of)


@given(st.lists(st.binary(max_size=4), min_size=1))
def test_every_token_has_a_word_and_every_word_a_token(pieces: list[bytes]) -> None:
    words, word_of = words_of_pieces(pieces)
    assert len(word_of) == len(pieces)
    assert word_of == sorted(word_of)
    assert set(word_of) == set(range(len(words)))
    "".join(words).encode()


@pytest.mark.parametrize(
    "token, spelled, shown",
    [
        ("Ġcat", b" cat", "▁cat"),
        ("Ċ", b"\n", "<0x0A>"),
        ("Ã©", "é".encode(), "é"),
        ("ðŁ", b"\xf0\x9f", "<0xF0><0x9F>"),
        ("猫", "猫".encode(), "猫"),
        ("Ġ\u202e", "Ġ\u202e".encode(), "Ġ<0xE2><0x80><0xAE>"),
    ],
)
def test_byte_level_tokens(token: str, spelled: bytes, shown: str) -> None:
    assert byte_of_character(token) == spelled
    assert legible(spelled) == shown


def test_every_byte_has_a_character() -> None:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    assert {byte_of_character(character) for character in alphabet} == {bytes([n]) for n in range(256)}
