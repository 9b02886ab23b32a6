"""Given words and the model's tokens meet in the characters, whatever either side splits or joins."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.models import ENGLISH, ITALIAN_TEXT, subword_coder
from tests.transformer.checkpoints.tokenizers import folders
from tests.transformer.checkpoints.tokenizers.folders import texts_of
from transformer.analysis.alignment.words import given_words, tokens_of_words, typed
from transformer.checkpoints.tokenizers.building import build
from transformer.checkpoints.tokenizers.library import LibraryCoder, LibraryTokenizer
from transformer.checkpoints.tokenizers.marian import MarianCoder
from transformer.text.coder import Coder, EncodedSentence, SentenceCoder
from transformer.text.ids import IdCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer

ITALIAN = subword_coder("it", ITALIAN_TEXT, size=310)
WORDS = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(ENGLISH))


def spelled(words: list[str], coder: Coder) -> list[str]:
    """The text of each word's tokens."""
    sentence = coder.encode(typed(words, coder))
    owned = tokens_of_words(words, sentence, coder)
    return [coder.decode([i for i, own in zip(sentence.ids, row, strict=True) if own]) for row in owned]


@pytest.mark.parametrize(
    "line",
    [
        "Dov' è l' acqua dell' amica ?",
        "Vedo un po' d' acqua , ieri .",
        "60 - 70 % ... ( ieri ) \u201cgatto\u201d",
        "l'amica dell' amico",
        "\u00e8 \u732b \U0001f99d ?!",
    ],
)
def test_clitics_and_punctuation_stay_with_their_word(line: str) -> None:
    words = given_words(line)
    assert spelled(words, ITALIAN) == words


def test_the_model_reads_ordinary_text() -> None:
    assert typed("Dov' è l' amica ?".split(), ITALIAN) == "Dov'è l'amica?"
    assert typed("I do n't see it .".split(), WORDS) == "I don't see it."
    ids = IdCoder(rows=9, special_tokens=WORDS.special_tokens)
    assert typed("5 3 .".split(), ids) == "5 3 ."


def test_only_spaces_separate_words() -> None:
    assert given_words("  a   b\u00a0c \u3000 d\r\n") == ["a", "b\u00a0c", "\u3000", "d"]
    assert given_words(" \n") == []
    words = ["un", "10\u00a0000", "gatto"]
    assert [text.replace(" ", "") for text in spelled(words, ITALIAN)] == ["un", "10000", "gatto"]


def test_a_word_of_nothing_that_is_read_has_no_tokens() -> None:
    words = ["il", "\u200b", "\u3000", "gatto"]
    assert spelled(words, ITALIAN) == ["il", "", "", "gatto"]


def test_unknown_words_are_words() -> None:
    """<unk> is longer than some words that it stands for, and shorter than others."""
    words = ["the", "q", "extraordinarily", "n't", "dog"]
    assert spelled(words, WORDS) == ["the", "<unk>", "<unk>", "<unk>", "dog"]


def test_a_token_of_two_words_belongs_to_both() -> None:
    sentence = WORDS.encode("dog!!cat")
    whole = EncodedSentence(["dogcat"], [WORDS.vocabulary.encode(["dog"])[0]], [False], ["dogcat"], [0])
    assert tokens_of_words(["dog", "cat"], whole, WORDS).tolist() == [[True], [True]]
    assert tokens_of_words(["dog", "cat"], sentence, WORDS).any(axis=1).all()


def test_characters_that_a_tokenizer_rewrites_shift_nothing() -> None:
    """As NFKC does, one character becomes three."""
    ids = WORDS.vocabulary.encode(["the", "cat", "saw", "dog"])
    sentence = EncodedSentence(["."] * 4, ids, [False] * 4, ["the", "1/2", "...", "dog"], [0, 1, 2, 3])
    owned = tokens_of_words(["the", "\u00bd", "\u2026", "dog"], sentence, WORDS)
    assert owned.tolist() == [[place == word for place in range(4)] for word in range(4)]


@pytest.mark.parametrize("make, family", [(folders.t5, "t5"), (folders.marian, "marian")])
def test_other_libraries_tokenizers(make: Callable[[Path], object], family: str, tmp_path: Path) -> None:
    """Their words are others: "l'amica" is one."""
    make(tmp_path)
    built = build(texts_of(tmp_path), family)
    coder: Coder
    if isinstance(built, LibraryTokenizer):
        coder = LibraryCoder(built, rows=999, special_tokens=WORDS.special_tokens, language="it")
    else:
        assert built is not None
        coder = MarianCoder(built[0], rows=999, special_tokens=WORDS.special_tokens, language="it")
    words = "Il gatto dorme , ma l' amica dell' orso non lo vede !".split()
    assert [text.strip() for text in spelled(words, coder)] == words


def test_any_split_of_a_text_is_followed() -> None:
    """Cut anywhere: tokens stay in order, each has a word, and each word has a token."""
    draw = random.Random(11)
    text = "".join(ITALIAN_TEXT.split())
    for _ in range(20):
        words, start = [], 0
        while start < len(text):
            size = draw.randint(1, 9)
            words.append(text[start : start + size])
            start += size
        sentence = ITALIAN.encode(typed(words, ITALIAN))
        owned = tokens_of_words(words, sentence, ITALIAN)
        assert owned.any(axis=0).all(), words
        assert owned.any(axis=1).all(), words
        firsts = owned.argmax(axis=1).tolist()
        assert firsts == sorted(firsts), words
