"""Typing noise: sentences as people type them in a hurry, on a telephone, to a friend."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from transformer.data.typed_words import MISSPELLED, SHORT

_LONG_WORD = re.compile(r"\b[^\W\d_A-Z]{4,}\b")
"""Not a name: who mistypes a name gets another one. So slips come first, as long as names can be told."""
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _without_end(sentence: str, rng: Random) -> str:
    return sentence.rstrip(".!?")


def _small_first(sentence: str, rng: Random) -> str:
    return sentence[:1].lower() + sentence[1:]


def _small(sentence: str, rng: Random) -> str:
    return sentence.lower()


def _capitals(sentence: str, rng: Random) -> str:
    return sentence.upper()


def _curly(sentence: str, rng: Random) -> str:
    return sentence.replace("'", "’")


def _without_apostrophes(sentence: str, rng: Random) -> str:
    return sentence.replace("'", "")


def _without_commas(sentence: str, rng: Random) -> str:
    return sentence.replace(",", "")


def _many_marks(sentence: str, rng: Random) -> str:
    return sentence + sentence[-1:] * rng.randint(1, 2) if sentence[-1:] in ("!", "?", ".") else sentence


def _two_spaces(sentence: str, rng: Random) -> str:
    gaps = [match.start() for match in re.finditer(" ", sentence)]
    if not gaps:
        return sentence
    gap = rng.choice(gaps)
    return f"{sentence[:gap]} {sentence[gap:]}"


def _one_of(words: dict[str, str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\b")


_SHORTENED, _SPELLED = _one_of(SHORT), _one_of(MISSPELLED)


def _instead(word: str, ways: dict[str, str], rng: Random) -> str:
    return rng.choice(ways[word].split()).replace("_", " ")


def _short(sentence: str, rng: Random) -> str:
    """Shorten some, for who writes "u" may still write "are"."""
    share = rng.choice([0.3, 1.0])
    return _SHORTENED.sub(
        lambda match: _instead(match[0], SHORT, rng) if rng.random() < share else match[0], sentence
    )


def _misspelled(sentence: str, rng: Random) -> str:
    """Misspell one word that many do."""
    words = list(_SPELLED.finditer(sentence))
    if not words:
        return sentence
    word = rng.choice(words)
    return sentence[: word.start()] + _instead(word[0], MISSPELLED, rng) + sentence[word.end() :]


def _slip(sentence: str, rng: Random) -> str:
    """Strike a wrong key in a longer word: letters change places, one is missing or twice, or another."""
    words = list(_LONG_WORD.finditer(sentence))
    if not words:
        return sentence
    word = rng.choice(words)
    place = word.start() + rng.randint(1, len(word[0]) - 2)
    before, here, following, after = (
        sentence[:place], sentence[place], sentence[place + 1], sentence[place + 2 :]
    )  # fmt: skip
    beside = rng.choice(_beside(here)) + following
    return before + rng.choice([following + here, following, here + here + following, beside]) + after


def _beside(letter: str) -> str:
    """The keys left and right of a letter's; the letter where it has none."""
    row = next((row for row in _KEYS if letter in row), letter)
    place = row.index(letter)
    return row[max(0, place - 1) : place] + row[place + 1 : place + 2] or letter


def _without_space(sentence: str, rng: Random) -> str:
    """Run two small words together."""
    gaps = [match.start() for match in re.finditer(r"(?<=[a-z]) (?=[a-z])", sentence)]
    if not gaps:
        return sentence
    gap = rng.choice(gaps)
    return sentence[:gap] + sentence[gap + 1 :]


_WAYS: dict[Callable[[str, Random], str], float] = {
    _misspelled: 0.25,
    _short: 0.25,
    _slip: 0.25,
    _without_space: 0.04,
    _without_end: 0.5,
    _small_first: 0.25,
    _small: 0.35,
    _without_apostrophes: 0.25,
    _curly: 0.25,
    _without_commas: 0.15,
    _many_marks: 0.05,
    _two_spaces: 0.05,
    _capitals: 0.06,
}
"""What happens to a sentence, one after the other, and how often."""


def add_typing_noise(sentence: str, rng: Random) -> str:
    """Type a well-written sentence in a hurry; the sentence itself where nothing can be done to it.

    A model that is trained on some such sources, with their careful translations, translates a person who
    types in a hurry: in a corpus of written sentences "ciao" never begins one.
    """
    for _ in range(10):
        typed = sentence
        for way, share in _WAYS.items():
            if rng.random() < share:
                typed = way(typed, rng) or typed
        if typed.strip() and typed != sentence:
            return typed
    return sentence
