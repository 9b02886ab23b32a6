import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from transformer.errors import TextError
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Vocabulary
from transformer.text.words import LONGEST_WORD, WordTokenizer, clean

ENGLISH = WordTokenizer("en", lowercase=True)
ITALIAN = WordTokenizer("it", lowercase=True)
ANY_TEXT = st.text(alphabet=st.characters())  # including lone surrogates


@pytest.mark.parametrize(
    "typed, cleaned",
    [
        ("il gatto", "il gatto"),
        ("  il\t gatto\r\n nero ", "il gatto nero"),
        ("perche\u0301", "perch\u00e9"),
        ("a\ud800b", "a\ufffdb"),
        ("a\u200bb\u202ec\u00add\x00e\x7f", "abcde"),
        ("a\u2028b", "a b"),
        ("<script> $x$ :red[a]", "<script> $x$ :red[a]"),
    ],
)
def test_clean(typed: str, cleaned: str) -> None:
    assert clean(typed) == cleaned


@given(ANY_TEXT)
def test_clean_leaves_nothing_invisible_and_changes_nothing_twice(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not {unicodedata.category(character) for character in cleaned} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    json.dumps(cleaned).encode()


@given(ANY_TEXT)
def test_words_keep_every_visible_character(text: str) -> None:
    for tokenizer in (ENGLISH, ITALIAN):
        words = tokenizer.words(text)
        assert "".join(words) == "".join(clean(text).split())
        assert all(word and not word.isspace() for word in words)


@pytest.mark.parametrize(
    "sentence, words",
    [
        ("My favourite animal is the raccoon.", ["My", "favourite", "animal", "is", "the", "raccoon", "."]),
        ("I don't see my brother's dog!", ["I", "do", "n't", "see", "my", "brother", "'s", "dog", "!"]),
        ("it's 2024, isn't it?", ["it", "'s", "2024", ",", "is", "n't", "it", "?"]),
        ("", []),
        (" \n\t\u200b", []),
    ],
)
def test_english_words(sentence: str, words: list[str]) -> None:
    assert ENGLISH.words(sentence) == words


@pytest.mark.parametrize(
    "sentence, words",
    [
        ("Dov'è l'acqua?", ["Dov'", "è", "l'", "acqua", "?"]),
        ("un\u2019amica dell\u2019orso", ["un\u2019", "amica", "dell\u2019", "orso"]),
        ("Bevo un po' d'acqua (fredda).", ["Bevo", "un", "po'", "d'", "acqua", "(", "fredda", ")", "."]),
    ],
)
def test_italian_words_and_back(sentence: str, words: list[str]) -> None:
    assert ITALIAN.words(sentence) == words
    assert ITALIAN.join(words) == sentence


@pytest.mark.parametrize("sentence", ["I can't, he won't.", "she's my brother's friend?", "yes (no): 5%…"])
def test_english_join(sentence: str) -> None:
    assert ENGLISH.join(ENGLISH.words(sentence)) == sentence


@given(ANY_TEXT)
def test_joining_loses_no_character(text: str) -> None:
    words = ITALIAN.words(text)
    assert ITALIAN.join(words).replace(" ", "") == "".join(words)


def test_a_long_run_is_cut_into_pieces() -> None:
    lengths = [len(word) for word in ENGLISH.words("a" * (2 * LONGEST_WORD + 1))]
    assert lengths == [LONGEST_WORD, LONGEST_WORD, 1]


@pytest.mark.parametrize("piece", ["a", "'", "(", "😀", "the raccoon. ", "\ud800", "l'"])
@pytest.mark.parametrize("tokenizer", [ENGLISH, ITALIAN], ids=["English", "Italian"])
def test_the_work_is_linear_in_the_length(
    tokenizer: WordTokenizer, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules, which take quadratic time, get every character once, and never many at a time."""
    rules, lengths = tokenizer._rules, list[int]()

    def counted(run: str) -> Doc:
        lengths.append(len(run))
        return rules(run)

    monkeypatch.setattr(tokenizer, "_rules", counted)
    text = (piece * 20_000)[:20_000]
    tokenizer.words(text)
    assert sum(lengths) == len(clean(text).replace(" ", ""))
    assert max(lengths) <= LONGEST_WORD


@pytest.mark.parametrize("language", ["de", "es", "fr"])
def test_further_languages(language: str) -> None:
    assert WordTokenizer(language, lowercase=False).words("Paris, 2024") == ["Paris", ",", "2024"]


@pytest.mark.parametrize("language", ["", "qq", "english", "../en", "xx.yy"])
def test_an_unknown_language_is_named(language: str) -> None:
    with pytest.raises(TextError, match="no tokenizing rules for the language"):
        WordTokenizer(language, lowercase=True)


@pytest.fixture
def coder() -> SentenceCoder:
    return SentenceCoder(ITALIAN, Vocabulary(["il", "l'", "gatto", "acqua", "."]))


def test_encoding_keeps_what_was_typed_and_flags_what_is_unknown(coder: SentenceCoder) -> None:
    encoded = coder.encode("Il Gatto, L\u2019acqua.")
    assert encoded.words == ["Il", "Gatto", ",", "L\u2019", "acqua", "."]
    assert encoded.ids == [4, 6, UNK_ID, 5, 7, 8]
    assert encoded.unknown == [False, False, True, False, False, False]


def test_case_counts_where_it_is_not_lowered() -> None:
    coder = SentenceCoder(WordTokenizer("it", lowercase=False), Vocabulary(["il", "gatto"]))
    assert coder.encode("Il gatto").unknown == [True, False]


def test_typed_reserved_words_are_ordinary_unknown_words(coder: SentenceCoder) -> None:
    encoded = coder.encode("<bos> <pad> <eos> <unk> gatto")
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(encoded.ids)
    assert encoded.unknown == [True] * (len(encoded.ids) - 1) + [False]
    assert coder.vocabulary.encode(["<pad>", "<bos>", "<eos>"]) == [UNK_ID] * 3
    assert "<bos>" not in coder.vocabulary


@given(ANY_TEXT)
def test_encoding_never_raises(text: str) -> None:
    encoded = SentenceCoder(ENGLISH, Vocabulary(["a", "the"])).encode(text)
    assert len(encoded.words) == len(encoded.ids) == len(encoded.unknown)


def test_decoding_leaves_the_marks_out_and_shows_unknown(coder: SentenceCoder) -> None:
    assert coder.decode([BOS_ID, 5, 7, UNK_ID, 8, EOS_ID, PAD_ID]) == "l'acqua <unk>."


def test_a_source_is_read_with_its_end(coder: SentenceCoder) -> None:
    assert coder.frame([4, 5]) == (4, 5, EOS_ID)
    assert coder.frame_tokens(["il", "l'"]) == ("il", "l'", "<eos>")
    assert coder.language == "it"
    assert coder.special_tokens.suppressed == (PAD_ID, BOS_ID)


def test_a_vocabulary_as_a_list(coder: SentenceCoder) -> None:
    words = coder.vocabulary.to_list()
    assert words[:5] == ["<pad>", "<bos>", "<eos>", "<unk>", "il"]
    assert len(coder.vocabulary) == len(words) == 9
    assert Vocabulary.from_list(words).to_list() == words
    assert [coder.vocabulary.word(index) for index in range(9)] == words


@pytest.mark.parametrize("words", [["a", "a"], ["<unk>"]])
def test_a_vocabulary_refuses_repeated_words(words: list[str]) -> None:
    with pytest.raises(TextError, match="once"):
        Vocabulary(words)


def test_a_list_without_the_special_words_is_refused() -> None:
    with pytest.raises(TextError, match="begins with"):
        Vocabulary.from_list(["a", "b"])
