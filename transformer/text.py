"""Sentences to words to ids, and back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from spacy.tokens import Doc

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)

LONGEST_WORD = 48
"""Characters without a space that are looked at together: spaCy's rules take quadratic time in them."""

_ENGLISH_ENDING = re.compile(r"n't|'[a-z]+", re.IGNORECASE)
_ELIDED = re.compile(r"\w+'", re.IGNORECASE)
_APOCOPES = {"po'", "mo'", "be'"}
_CLOSING = frozenset(".,;:!?…)]}»”%")
_OPENING = frozenset("([{«“¿¡")
_ELIDING_LANGUAGES = frozenset({"it", "fr", "ca"})


Unit = Literal["word", "sub-word", "token"]
"""What the tokens of a vocabulary are, in words for people."""


class TextError(ValueError):
    """A text setting that can't be used; the message says what to change."""


def clean(text: str) -> str:
    """Leave of typed text what a model is to read.

    Lone surrogates become U+FFFD, every run of white space (tabs and new lines too) one space, and other
    control and format characters (zero-width, bidirectional, soft hyphen) are dropped; the rest is brought
    into Unicode's composed form, NFC. What joiners held together comes apart: an emoji of a family becomes
    its members. `clean(clean(text)) == clean(text)`.
    """
    spaced = "".join(map(_clean_character, text))
    return unicodedata.normalize("NFC", " ".join(spaced.split()))


def _clean_character(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    return "" if category in ("Cc", "Cf") else character


@lru_cache(maxsize=64)
def _spacy_tokenizer(language: str) -> Callable[[str], Doc]:
    """Load the rule-based tokenizer of a language: up to some seconds, and nothing is downloaded."""
    import spacy  # takes a second, and a model of symbols needs none of it

    try:
        if not re.fullmatch(r"[a-z]{2,3}", language):
            raise ImportError
        return spacy.blank(language).tokenizer
    except ImportError as error:
        raise TextError(
            f"There are no tokenizing rules for the language {language!r}: give a code that spaCy knows and "
            "that needs no further package, such as en, it, de, es or fr."
        ) from error


class WordTokenizer:
    """Splits sentences of one language into words, by spaCy's rules, and joins words to sentences.

    Attributes:
        language: two- or three-letter code.
        lowercase: whether words are looked up in lower case. What was typed is kept either way.

    Raises:
        TextError: for a language without rules.
    """

    def __init__(self, language: str, *, lowercase: bool) -> None:
        self.language = language
        self.lowercase = lowercase
        self._rules = _spacy_tokenizer(language)

    def words(self, sentence: str) -> list[str]:
        """Split a sentence into its words as typed, cleaned by `clean`.

        Never raises. More than LONGEST_WORD characters without a space are cut into pieces.
        """
        return [word for word, _ in self.spaced_words(sentence)]

    def spaced_words(self, sentence: str) -> list[tuple[str, bool]]:
        """Split as `words` does; each word with whether there is a space before it, as before the first."""
        spaced_words = []
        for run in clean(sentence).split():
            spaced = True
            for start in range(0, len(run), LONGEST_WORD):
                for token in self._rules(run[start : start + LONGEST_WORD]):
                    spaced_words.append((token.text, spaced))
                    spaced = False
        return spaced_words

    def join(self, words: Iterable[str]) -> str:
        """Make one sentence of words: punctuation, English endings and Italian elisions lose their space."""
        sentence, glued = "", True
        for word in words:
            glue = glued or self._follows_closely(word)
            sentence += word if glue else f" {word}"
            glued = self._is_followed_closely(word)
        return sentence

    def key(self, word: str) -> str:
        """Give the form under which a word is looked up: straight apostrophes, lower case if that is set."""
        straight = word.replace("’", "'").replace("ʼ", "'")
        return straight.lower() if self.lowercase else straight

    def _follows_closely(self, word: str) -> bool:
        if self.language == "en" and _ENGLISH_ENDING.fullmatch(self.key(word)):
            return True
        return bool(word) and all(character in _CLOSING for character in word)

    def _is_followed_closely(self, word: str) -> bool:
        key = self.key(word)
        if self.language in _ELIDING_LANGUAGES and _ELIDED.fullmatch(key) and key.lower() not in _APOCOPES:
            return True
        return bool(word) and all(character in _OPENING for character in word)


class Vocabulary:
    """Words and their ids; 0 to 3 are <pad>, <bos>, <eos> and <unk>.

    Args:
        words: the others, from id 4 on.

    Raises:
        TextError: for a word that comes twice or has a special one's name.
    """

    def __init__(self, words: Iterable[str]) -> None:
        ordinary = list(words)
        self._words = [*SPECIALS, *ordinary]
        self._ids = {word: index for index, word in enumerate(ordinary, start=len(SPECIALS))}
        if len(set(self._words)) != len(self._words):
            raise TextError(
                "A vocabulary lists each word once, and none of the special ones: remove repeated words."
            )

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: str) -> bool:
        """Whether it is an ordinary word with an id; the special ones, as typed text, are not."""
        return word in self._ids

    def encode(self, words: Iterable[str]) -> list[int]:
        """Look up their ids; <unk>'s for words that are not in it, the names of special ones among them."""
        return [self._ids.get(word, UNK_ID) for word in words]

    def word(self, index: int) -> str:
        """Name the word of an id."""
        return self._words[index]

    def to_list(self) -> list[str]:
        """List all words by id, the special ones first."""
        return list(self._words)

    @classmethod
    def from_list(cls, words: Sequence[str]) -> Vocabulary:
        """Make the vocabulary of a list that `to_list` gave."""
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise TextError(f"A vocabulary begins with {' '.join(SPECIALS)}.")
        return cls(words[len(SPECIALS) :])


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence as a model reads it, token by token.

    Attributes:
        tokens: the words, or the sub-words where the vocabulary has those.
        ids: theirs.
        unknown: which of them the vocabulary does not have.
        words: as typed.
        word_of: for each token the index of its word.
    """

    tokens: list[str]
    ids: list[int]
    unknown: list[bool]
    words: list[str]
    word_of: list[int]


@dataclass(frozen=True)
class Specials:
    """The ids of a vocabulary that stand for no text.

    Attributes:
        pad: fills up the shorter sentences of a batch; None where there is no such token, as below.
        bos: begins a sentence.
        eos: ends it.
        unk: stands for what the vocabulary does not have.
        mask: stands for a token that the model is to find (masked language models).
        never: what a generated sentence never goes on with.
    """

    pad: int | None
    bos: int | None
    eos: int | None
    unk: int | None
    mask: int | None = None
    never: tuple[int, ...] = ()


class Coder(Protocol):
    """Sentences to ids and ids to sentences.

    By whole words or by sub-words: ours (`transformer.subwords`) or another library's.
    """

    @property
    def unit(self) -> Unit:
        """What a token is."""
        ...

    @property
    def language(self) -> str | None:
        """Two- or three-letter code of the language it is for; None where that is not known."""
        ...

    @property
    def vocabulary(self) -> Sized:
        """The tokens that have ids."""
        ...

    @property
    def specials(self) -> Specials:
        """The ids that stand for no text."""
        ...

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put the special ids around a sentence's that a stack reads it with, as a source or as a prompt.

        What a decoder's input begins with when there is a source is not its coder's but its model's
        (`LoadedModel.start_ids`).
        """
        ...

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put the tokens that `frame` adds around a sentence's, each in the place of its id."""
        ...

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without the special ones that `frame` adds.

        Raises:
            SentenceError: only where a tokenizer of others fails on it.
        """
        ...

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, token by token; special ones too are kept as they are."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: the special ones that stand for no text are left out."""
        ...

    def token(self, index: int) -> str:
        """Name the token of an id."""
        ...


class OwnTokens:
    """What the coders of our own vocabularies share: the special tokens, and the language's rules.

    A source is read with <eos> behind it.
    """

    specials = Specials(pad=PAD_ID, bos=BOS_ID, eos=EOS_ID, unk=UNK_ID, never=(PAD_ID, BOS_ID))

    def __init__(self, tokenizer: WordTokenizer) -> None:
        self.tokenizer = tokenizer

    @property
    def language(self) -> str:
        """Two- or three-letter code."""
        return self.tokenizer.language

    def frame(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Put <eos> behind the ids of a source."""
        return (*ids, EOS_ID)

    def frame_tokens(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Put <eos> behind the tokens of a source."""
        return (*tokens, EOS)


class SentenceCoder(OwnTokens):
    """A tokenizer and a vocabulary of words: sentences to ids and ids to sentences."""

    unit: Unit = "word"

    def __init__(self, tokenizer: WordTokenizer, vocabulary: Vocabulary) -> None:
        super().__init__(tokenizer)
        self.vocabulary = vocabulary

    def encode(self, sentence: str) -> EncodedSentence:
        """Encode typed text, without <bos> or <eos>. Never raises: unknown words are flagged."""
        words = self.tokenizer.words(sentence)
        ids = self.vocabulary.encode(map(self.tokenizer.key, words))
        return replace(self.of_ids(ids), tokens=words, words=words)

    def of_ids(self, ids: Sequence[int]) -> EncodedSentence:
        """Describe the sentence of given ids, word by word."""
        words = list(map(self.vocabulary.word, ids))
        return EncodedSentence(
            tokens=words,
            ids=list(ids),
            unknown=[index == UNK_ID for index in ids],
            words=words,
            word_of=list(range(len(words))),
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Make the sentence of ids: <pad>, <bos> and <eos> are left out, <unk> is shown."""
        words = [self.vocabulary.word(index) for index in ids if index not in (PAD_ID, BOS_ID, EOS_ID)]
        return self.tokenizer.join(words)

    def token(self, index: int) -> str:
        """Name the word of an id."""
        return self.vocabulary.word(index)
