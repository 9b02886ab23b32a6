"""Typing noise: sentences as people type them in a hurry, on a telephone, to a friend."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_SHORT = {
    "you": "u", "your": "ur", "you're": "ur", "are": "r", "please": "pls", "thanks": "thx", "because": "cuz",
    "going to": "gonna", "want to": "wanna", "people": "ppl", "tomorrow": "tmrw", "and": "&",
    "I don't know": "idk",
}  # fmt: skip
_SHORTENED = re.compile(rf"\b({'|'.join(sorted(_SHORT, key=len, reverse=True))})\b")
_LONG_WORD = re.compile(r"\b[^\W\d_A-Z]{4,}\b")
"""Not a name: who mistypes a name gets another one. So slips come first, as long as names can be told."""


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


def _short(sentence: str, rng: Random) -> str:
    return _SHORTENED.sub(lambda match: _SHORT[match[0]], sentence)


def _slip(sentence: str, rng: Random) -> str:
    """Strike a wrong key in a longer word: two letters change places, one is missing, one comes twice."""
    words = list(_LONG_WORD.finditer(sentence))
    if not words:
        return sentence
    word = rng.choice(words)
    place = word.start() + rng.randint(1, len(word[0]) - 2)
    before, here, following, after = (
        sentence[:place], sentence[place], sentence[place + 1], sentence[place + 2 :]
    )  # fmt: skip
    return before + rng.choice([following + here, following, here + here + following]) + after


_WAYS: dict[Callable[[str, Random], str], float] = {
    _slip: 0.2,
    _without_end: 0.5,
    _small_first: 0.25,
    _small: 0.35,
    _without_apostrophes: 0.25,
    _curly: 0.25,
    _short: 0.12,
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
