"""Converts typed text to words and back: cleaning, and spaCy's tokenization rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from transformer.errors import TextError

if TYPE_CHECKING:
    from spacy.tokens import Doc

LONGEST_WORD = 48
"""Most characters without a space that are tokenized together, because spaCy's rules take quadratic time."""

_ENGLISH_ENDING = re.compile(r"n't|'[a-z]+", re.IGNORECASE)
_ELIDED = re.compile(r"\w+'", re.IGNORECASE)
_APOCOPES = {"po'", "mo'", "be'"}
_CLOSING = frozenset(".,;:!?…)]}»”%")
_OPENING = frozenset("([{«“¿¡")
_ELIDING_LANGUAGES = frozenset({"it", "fr", "ca"})


def clean(text: str) -> str:
    """Normalise typed text for a model.

    Lone surrogates become U+FFFD, every run of white space (including tabs and line breaks) becomes one
    space, other control and format characters (zero-width, bidirectional, soft hyphen) are dropped, and the
    rest is composed (NFC). Dropping joiners splits joined characters: a family emoji becomes its members.
    `clean(clean(text)) == clean(text)`.
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
    """Load a language's rule-based tokenizer, which takes up to a few seconds and downloads nothing."""
    import spacy  # takes a second, and symbol tasks don't need it

    try:
        if not re.fullmatch(r"[a-z]{2,3}", language):
            raise ImportError
        return spacy.blank(language).tokenizer
    except ImportError as error:
        raise TextError(
            f"There are no tokenizing rules for the language {language!r}: give a code that spaCy supports "
            "without a further package, such as en, it, de, es or fr."
        ) from error


class WordTokenizer:
    """Splits sentences of one language into words by spaCy's rules, and joins words into sentences.

    Attributes:
        language: two- or three-letter code.
        lowercase: whether to look up words in lower case; `words` are always as typed.

    Raises:
        TextError: for a language without tokenization rules.
    """

    def __init__(self, language: str, *, lowercase: bool) -> None:
        self.language = language
        self.lowercase = lowercase
        self._rules = _spacy_tokenizer(language)

    def words(self, sentence: str) -> list[str]:
        """The words of a sentence after `clean`; runs of more than LONGEST_WORD characters are split."""
        return [word for word, _ in self.spaced_words(sentence)]

    def spaced_words(self, sentence: str) -> list[tuple[str, bool]]:
        """The `words`, each with True if there is a space before it, as for the first."""
        spaced_words = []
        for run in clean(sentence).split():
            spaced = True
            for start in range(0, len(run), LONGEST_WORD):
                for token in self._rules(run[start : start + LONGEST_WORD]):
                    spaced_words.append((token.text, spaced))
                    spaced = False
        return spaced_words

    def join(self, words: Iterable[str]) -> str:
        """Join words into a sentence, without spaces at punctuation, English endings and elisions."""
        sentence, glued = "", True
        for word in words:
            glue = glued or self._follows_closely(word)
            sentence += word if glue else f" {word}"
            glued = self._is_followed_closely(word)
        return sentence

    def key(self, word: str) -> str:
        """The form of a word for look-up: straight apostrophes, and lower case if set."""
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
