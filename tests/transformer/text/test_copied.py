"""Names and numbers of a source are spelled to their end, however they are split into pieces."""

from __future__ import annotations

import pytest

from tests.support.models import subword_coder
from transformer.text.copied import CopiedWords, looks_like_a_name, words_of

CODER = subword_coder("it", "Katarina vede la casa e il casale. " * 3 + "1 19 198 casa casale " * 3, size=330)


def spelled(word: str) -> set[str]:
    """The pieces, including single bytes, that the word begins with."""
    ids = CODER.vocabulary.all_ids - set(CODER.special_tokens.ids)
    return {CODER.token(index) for index in ids if word.encode().startswith(CODER.vocabulary.spell(index))}


def may_follow(text: str, *words: str, others: tuple[str, ...] = ()) -> set[str] | None:
    """The pieces that may follow a text if these words are copied; None if all may."""
    closed = CopiedWords(words, " ".join((*words, *others)), CODER.vocabulary).closed(CODER.encode(text).ids)
    if not closed:
        return None
    return {CODER.token(index) for index in CODER.vocabulary.all_ids - closed}


def test_only_what_continues_a_begun_word_may_follow() -> None:
    assert may_follow("vede Kat", "Katarzyna") == spelled("arzyna")
    assert "ar" in spelled("arzyna"), "or the test shows little"
    assert may_follow("vede Katarz", "Katarzyna", "Ugo") == spelled("yna")
    assert may_follow("l'Kat", "Katarzyna") == spelled("arzyna"), "after an apostrophe, too"


@pytest.mark.parametrize("text", ["vede Ka", "vede kat", "vede UKat", "vede Kato", "vede"])
def test_what_has_not_begun_it_is_free(text: str) -> None:
    """Too few letters, different ones, or the middle of a word."""
    assert may_follow(text, "Katarzyna") is None


def test_a_word_is_being_spelled_from_where_it_has_begun_to_its_last_letter() -> None:
    copied = CopiedWords(["Katarzyna"], "Katarzyna", CODER.vocabulary)
    texts = ["vede", "vede Ka", "vede Kat", "vede Katarzyn", "vede Katarzyna", "vede Katarzyna e"]
    spelling = [text for text in texts if copied.is_spelling(CODER.encode(text).ids)]
    assert spelling == ["vede Kat", "vede Katarzyn"]


def test_no_letter_follows_a_whole_word() -> None:
    found = may_follow("vede Katarzyna", "Katarzyna")
    assert found is not None
    assert {"<eos>", "▁", ".", "▁la"} <= found
    assert not {"a", "na", "1"} & found


def test_two_names_that_begin_alike_are_told_apart() -> None:
    names = ("Katarzyna", "Katia")
    assert may_follow("vede Kat", *names) is None
    assert may_follow("vede Kata", *names) == spelled("rzyna")
    assert may_follow("vede Kat", "Katarzyna", others=("Katowice",)) is None, "it may become Katowice"
    assert may_follow("vede Katia", "Katia", "Katiana") is None, "which may continue"


def test_a_short_name_is_begun_before_its_last_letter_and_a_number_after_two_digits() -> None:
    assert may_follow("vede Ol", "Olu") == spelled("u")
    assert may_follow("nel 1", "1987") is None
    assert may_follow("nel 19", "1987") == spelled("87")
    assert may_follow("alle 4", "45") == spelled("5")


def test_a_name_whose_letters_begin_nothing_else_is_begun_sooner() -> None:
    assert may_follow("vede Xy", "Xylander") == spelled("lander")
    assert may_follow("vede X", "Xylander") == spelled("ylander")
    assert may_follow("vede Þ", "Þorbjörg") == spelled("orbjörg"), "one that is spelled by bytes"
    assert may_follow("vede cu", "cuxylander") == spelled("xylander"), "casa and casale do not"
    assert may_follow("vede c", "cuxylander") is None
    assert may_follow("vede ca", "caxylander") is None, "casa and casale begin like it"


def test_letters_that_are_spelled_by_bytes() -> None:
    """No piece contains ł: it is two bytes, and after the first only the second may follow."""
    ids = CODER.encode("Paweł").ids
    first, second = CODER.encode("ł").ids[-2:]
    copied = CopiedWords(["Paweł"], "I see Paweł.", CODER.vocabulary)
    at = ids.index(first)
    assert CODER.vocabulary.all_ids - copied.closed(ids[:at]) == {first}
    assert CODER.vocabulary.all_ids - copied.closed(ids[: at + 1]) == {second}


def test_letters_that_no_piece_has_come_from_the_source() -> None:
    """A byte that begins one of the source's letters may follow, then only those that complete one."""
    copied = CopiedWords(["Paweł"], "Paweł says: €5 – see <0xE1>.", CODER.vocabulary)
    vocabulary = CODER.vocabulary

    def open_after(spelled: bytes) -> set[bytes]:
        target = [*CODER.encode("vede").ids, *map(vocabulary.byte, spelled)]
        return {vocabulary.spell(index) for index in vocabulary.all_ids - copied.invented_letters(target)}

    pieces = {vocabulary.spell(index) for index in vocabulary.all_ids - vocabulary.parts_of_letters}
    assert open_after(b"") == open_after("ł".encode()) == pieces | {b"\xc5", b"\xe2"}
    assert open_after(b"\xc5") == open_after("€".encode() + b"\xc5") == {b"\x82"}
    assert open_after(b"\xe2") == {b"\x82", b"\x80"}
    assert open_after(b"\xe2\x80") == {b"\x93"}
    assert b"\xff" in open_after(b"\xe1"), "a beginning that was given is nobody's letter"


def test_what_looks_like_a_name() -> None:
    assert words_of("Ji-woo, O'Connor: 3rd of 1987!") == ["Ji-woo", "O", "Connor", "3rd", "of", "1987"]
    names = [
        word for word in words_of("I saw Élodie, 7 cats, 12 dogs and the 3rd") if looks_like_a_name(word)
    ]
    assert names == ["Élodie", "12"]
    assert may_follow("anything") is None
