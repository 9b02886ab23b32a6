"""Typing noise: sentences as people type them in a hurry, for example on a phone to a friend."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from transformer.data.typed_words import MISSPELLED, SHORT, SOUNDS_ALIKE

_SMALL_WORD = re.compile(r"\b[^\W\d_A-Z]{3,}\b")
"""A word but not a name, because a mistyped name is another name.

So slips are applied first, while capitals still mark names.
"""
_GAP, _GAP_IN_SMALL = re.compile(" "), re.compile("(?<=[a-z]) (?=[a-z])")
_MARK, _LAST_LETTER = re.compile("(?<=\\w), (?=\\w)|[?!]+$"), re.compile("[aeioumnrsyz](?=\\W*$)")
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


def _spaces_at_marks(sentence: str, rng: Random) -> str:
    return _with_one(
        _MARK, lambda mark: rng.choice([" ,", ","] if mark == ", " else [f" {mark}"]), sentence, rng
    )


def _stretched(sentence: str, rng: Random) -> str:
    return _with_one(_LAST_LETTER, lambda letter: letter * rng.randint(2, 5), sentence, rng)


def _two_spaces(sentence: str, rng: Random) -> str:
    return _with_one(_GAP, lambda gap: 2 * gap, sentence, rng)


def _without_space(sentence: str, rng: Random) -> str:
    return _with_one(_GAP_IN_SMALL, lambda gap: "", sentence, rng)


def _with_one(pattern: re.Pattern[str], change: Callable[[str], str], sentence: str, rng: Random) -> str:
    """Change one random match of a pattern, if any."""
    found = list(pattern.finditer(sentence))
    if not found:
        return sentence
    one = rng.choice(found)
    return sentence[: one.start()] + change(one[0]) + sentence[one.end() :]


def _one_of(words: dict[str, str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})\b")


_SHORTENED, _SPELLED = _one_of(SHORT), _one_of(MISSPELLED)
_SOUND = re.compile("|".join(sorted(SOUNDS_ALIKE, key=len, reverse=True)))


def _instead(word: str, ways: dict[str, str], rng: Random) -> str:
    return rng.choice(ways[word].split()).replace("_", " ")


def _short(sentence: str, rng: Random) -> str:
    """Shorten some words: a person who writes "u" may still write "are"."""
    share = rng.choice([0.3, 1.0])
    return _SHORTENED.sub(
        lambda match: _instead(match[0], SHORT, rng) if rng.random() < share else match[0], sentence
    )


def _misspelled(sentence: str, rng: Random) -> str:
    return _with_one(_SPELLED, lambda word: _instead(word, MISSPELLED, rng), sentence, rng)


def _by_ear(sentence: str, rng: Random) -> str:
    return _with_one(_SMALL_WORD, lambda word: _respelled(word, rng), sentence, rng)


def _respelled(word: str, rng: Random) -> str:
    return _with_one(_SOUND, lambda sound: _instead(sound, SOUNDS_ALIKE, rng), word, rng)


def _slip(sentence: str, rng: Random) -> str:
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        sentence = _with_one(_SMALL_WORD, lambda word: _struck(word, rng), sentence, rng)
    return sentence


def _struck(word: str, rng: Random) -> str:
    """Mistype a letter: swap it with the next, drop it, double it, or hit a key next to it."""
    place = rng.randint(1, len(word) - 2)
    here, following = word[place], word[place + 1]
    nearby = rng.choice(_nearby_keys(here)) + following
    wrong = rng.choice([following + here, following, here + here + following, nearby])
    return word[:place] + wrong + word[place + 2 :]


def _nearby_keys(letter: str) -> str:
    """The keys to the left and right of a letter; the letter itself if there are none."""
    row = next((row for row in _KEYS if letter in row), letter)
    place = row.index(letter)
    return row[max(0, place - 1) : place] + row[place + 1 : place + 2] or letter


_WAYS: dict[Callable[[str, Random], str], float] = {
    _misspelled: 0.25,
    _short: 0.25,
    _by_ear: 0.2,
    _slip: 0.3,
    _without_space: 0.04,
    _without_end: 0.5,
    _small_first: 0.25,
    _small: 0.35,
    _without_apostrophes: 0.25,
    _curly: 0.25,
    _without_commas: 0.15,
    _spaces_at_marks: 0.06,
    _many_marks: 0.05,
    _stretched: 0.04,
    _two_spaces: 0.05,
    _capitals: 0.1,
}
"""Changes to a sentence in the order of application, with their probabilities."""


def add_typing_noise(sentence: str, rng: Random) -> str:
    """Retype a well-written sentence as if in a hurry; returned as is if no change applies.

    A model trained on some such sources with correct translations also translates sentences typed in a hurry.
    Written corpora have none of these: no sentence begins in lower case.
    """
    for _ in range(10):
        typed = sentence
        for way, share in _WAYS.items():
            if rng.random() < share:
                typed = way(typed, rng) or typed
        if typed.strip() and typed != sentence:
            return typed
    return sentence
