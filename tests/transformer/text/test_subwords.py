"""Sub-words: nothing typed is lost or unknown, splits are byte-pair encoding's, every piece has its word."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import ENGLISH_TEXT, ITALIAN_TEXT, subword_coder
from transformer.errors import TextError
from transformer.text.subwords import BYTES, MARK, SubwordCoder, SubwordVocabulary, learn_subwords
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS
from transformer.text.words import clean

ENGLISH = subword_coder("en", ENGLISH_TEXT)
ITALIAN = subword_coder("it", ITALIAN_TEXT, size=330)
FIXED = [*SPECIALS, *BYTES]
NASTY = [
    "l'amica, l’amico: dov'è l'acqua?",
    "perché perche\u0301 È così",
    f"{MARK} typed{MARK}mark {MARK}{MARK}",
    "<bos> <pad> <eos> <unk> a<bos>b <0xE2> <0xe2>",
    "🦝 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301\u0323 \u0301alone",
    "a" * 200,
    "don't DON'T donʼt 'quoted' “curly” ...?!",
    "שלום مرحبا 你好 \ufffd \U00010348",
    "\x00\u200b\u202e tab\there\nthere",
    "  spaces   everywhere  ",
    "2024-11-21 3.14 50% €9,99 https://example.com/a?b=c",
]
ANY_TEXT = st.text(alphabet=st.characters()) | st.text(alphabet=f"ab '’<>0x{MARK}É🦝 \u0301").filter(bool)


@pytest.mark.parametrize("text", [*NASTY, "", " ", ENGLISH_TEXT, ITALIAN_TEXT])
def test_decoding_gives_back_what_was_typed(text: str) -> None:
    for coder in (ENGLISH, ITALIAN):
        assert coder.decode(coder.encode(text).ids) == clean(text)


@given(ANY_TEXT)
def test_decoding_gives_back_any_text(text: str) -> None:
    for coder in (ENGLISH, ITALIAN):
        encoded = coder.encode(text)
        assert coder.decode(encoded.ids) == clean(text)
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(encoded.ids)
        assert not any(encoded.unknown)


@given(ANY_TEXT)
def test_every_piece_knows_its_word(text: str) -> None:
    encoded = ENGLISH.encode(text)
    assert len(encoded.ids) == len(encoded.tokens) == len(encoded.word_of) == len(encoded.unknown)
    assert encoded.words == ENGLISH.tokenizer.words(text)
    assert sorted(set(encoded.word_of)) == list(range(len(encoded.words)))
    assert encoded.word_of == sorted(encoded.word_of)
    for number, word in enumerate(encoded.words):
        own = [index for index, of in zip(encoded.ids, encoded.word_of, strict=True) if of == number]
        assert ENGLISH.vocabulary.decode(own) == word


def test_lower_case_is_a_setting() -> None:
    coder = subword_coder("en", ENGLISH_TEXT.lower(), lowercase=True)
    encoded = coder.encode("The CAT’s É")
    assert coder.decode(encoded.ids) == "the cat’s é"
    assert encoded.words == ["The", "CAT", "’s", "É"]


def test_what_no_piece_spells_is_spelled_by_its_bytes() -> None:
    tokens = ENGLISH.encode("🦝").tokens
    assert tokens == [MARK, *(f"<0x{byte:02X}>" for byte in "🦝".encode())]


def test_a_typed_mark_is_no_space() -> None:
    assert ENGLISH.encode(MARK).tokens == [MARK, "<0xE2>", "<0x96>", "<0x81>"]


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    first = len(SPECIALS)
    assert ENGLISH.decode([first + 0xE2, first + 0x41]) == "\ufffdA"


def merged(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Byte-pair encoding by definition: apply the earliest applicable merge until none applies."""
    parts = list(word)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    while pairs := [pair for pair in pairwise(parts) if pair in ranks]:
        best = min(pairs, key=ranks.__getitem__)
        joined: list[str] = []
        while parts:
            both = tuple(parts[:2]) == best
            joined.append("".join(parts[: 1 + both]))
            parts = parts[1 + both :]
        parts = joined
    return parts


@given(st.text(alphabet=sorted(set(ENGLISH_TEXT) - {" "}), min_size=1, max_size=40), st.booleans())
def test_cuts_are_those_of_byte_pair_encoding(word: str, spaced: bool) -> None:
    _, merges = ENGLISH.vocabulary.to_lists()
    cut = [ENGLISH.token(index) for index in ENGLISH.vocabulary.encode(word, spaced=spaced)]
    assert cut == merged(MARK * spaced + word, merges)


def test_frequent_words_become_one_piece() -> None:
    assert ENGLISH.encode("the dog").tokens == ["▁the", "▁dog"]


def test_learning_is_repeatable() -> None:
    words = ITALIAN.tokenizer.spaced_words(ITALIAN_TEXT)
    first, second = (learn_subwords(words, size=330).to_lists() for _ in range(2))
    assert first == second == ITALIAN.vocabulary.to_lists()


@pytest.mark.parametrize("size", [261, 270, 290, 330])
def test_no_more_pieces_than_asked_for(size: int) -> None:
    words = ITALIAN.tokenizer.spaced_words(ITALIAN_TEXT)
    vocabulary = learn_subwords(words, size=size)
    assert len(vocabulary) <= size
    assert vocabulary.to_lists()[0][: len(FIXED)] == FIXED


def test_a_corpus_that_spells_special_pieces_teaches_none() -> None:
    words = [("<bos>", True), ("<0x41>", False), (f"a{MARK}", True), ("dog", True)] * 9
    pieces, merges = learn_subwords(words, size=300).to_lists()
    assert f"{MARK}dog" in pieces
    assert not {left + right for left, right in merges} & set(FIXED)


def test_an_empty_corpus_spells_everything_by_bytes() -> None:
    coder = subword_coder("en", "")
    assert len(coder.vocabulary) == len(FIXED) + 1
    assert coder.decode(coder.encode("a cat").ids) == "a cat"


def test_no_room_for_pieces_is_refused() -> None:
    with pytest.raises(TextError, match="needs more than 260 pieces, not 260"):
        learn_subwords([("a", True)], size=260)


@pytest.mark.parametrize(
    "pieces, merges, sentence",
    [
        (["a", "b"], [], "begins with <pad> <bos> <eos> <unk> and the 256 bytes"),
        ([*FIXED, "a"], [], "a piece for the space before a word"),
        ([*FIXED, MARK, "a", "a"], [], "lists each piece once"),
        ([*FIXED, MARK, "a", "b"], [("a", "b")], "is not of pieces in the vocabulary"),
        ([*FIXED, MARK, "<", "pad>"], [("<", "pad>")], "a special piece"),
        ([*FIXED, MARK, "<0x4", "1>"], [("<0x4", "1>")], "a special piece"),
    ],
)
def test_a_vocabulary_that_contradicts_itself_is_refused(
    pieces: list[str], merges: list[tuple[str, str]], sentence: str
) -> None:
    with pytest.raises(TextError, match=sentence):
        SubwordVocabulary(pieces, merges)


def test_a_vocabulary_is_made_of_its_lists_again() -> None:
    again = SubwordVocabulary(*ITALIAN.vocabulary.to_lists())
    for word, spaced in ITALIAN.tokenizer.spaced_words(" ".join(NASTY)):
        assert again.encode(word, spaced=spaced) == ITALIAN.vocabulary.encode(word, spaced=spaced)


@given(ANY_TEXT)
def test_ids_are_described_as_the_text_they_came_from(text: str) -> None:
    for coder in (ENGLISH, ITALIAN):
        encoded = coder.encode(text)
        assert coder.describe_ids(encoded.ids) == encoded


def pieces(text: str, *, spaced: bool) -> list[int]:
    """Ids of a text encoded letter by letter."""
    return [
        index
        for place, letter in enumerate(text)
        for index in ITALIAN.vocabulary.encode(letter, spaced=spaced and not place)
    ]


def test_a_model_may_cut_words_in_its_own_way() -> None:
    ids = [*pieces("L'amica", spaced=True), *pieces("vede,", spaced=True)]
    described = ITALIAN.describe_ids(ids)
    assert described.words == ["L'", "amica", "vede", ","]
    sizes = [described.word_of.count(word) for word in range(4)]
    assert [described.tokens[0], described.tokens[sizes[0] + sizes[1]]] == ["▁", "▁v"]
    assert sizes == [3, 5, 4, 1]


def test_a_word_that_no_piece_begins_in_belongs_to_the_one_before() -> None:
    vocabulary = SubwordVocabulary([*FIXED, MARK, "l'amica", "▁l", "'am", "ica"], [])
    coder = SubwordCoder(ITALIAN.tokenizer, vocabulary)
    both, l_, am, ica = range(len(FIXED) + 1, len(vocabulary))
    assert coder.describe_ids([both]).words == ["l'amica"]
    described = coder.describe_ids([BOS_ID, l_, am, ica])
    assert described.words == ["<bos>", "l'", "amica"]
    assert described.word_of == [0, 1, 1, 2]


def test_bytes_that_are_no_text_belong_to_what_they_are_glued_to() -> None:
    described = ITALIAN.describe_ids(
        [*pieces("vede.", spaced=True), len(SPECIALS) + 0xE2, *pieces("il", spaced=True)]
    )
    assert described.words == ["vede.\ufffd", "il"]


@given(st.lists(st.integers(0, len(ENGLISH.vocabulary) - 1), max_size=12))
def test_any_ids_can_be_described(ids: list[int]) -> None:
    described = ENGLISH.describe_ids(ids)
    assert described.ids == ids
    assert len(described.word_of) == len(described.tokens) == len(ids)
    assert sorted(set(described.word_of)) == list(range(len(described.words)))


def test_composed_and_decomposed_text_is_one() -> None:
    decomposed = unicodedata.normalize("NFD", "perché è così")
    assert ITALIAN.encode(decomposed).ids == ITALIAN.encode("perché è così").ids
