"""Words separated by spaces, and the model's tokens that spell them.

Alignment files have their own words, and a model splits text in its own way. The two meet in the characters:
spaces aside, both spell the same text, so nothing that is split or joined shifts the words after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from transformer.errors import TextError
from transformer.text.coder import Coder, EncodedSentence
from transformer.text.words import WordTokenizer, clean


def given_words(text: str) -> list[str]:
    """The words of a tokenised line. Only U+0020 separates words: a number may contain another space."""
    return [word for word in text.strip("\r\n").split(" ") if word]


def typed(words: Sequence[str], coder: Coder) -> str:
    """The words as a sentence that the model would be given: no space before a full stop, "l'isola"."""
    cleaned = [word for word in map(clean, words) if word]
    try:
        return WordTokenizer(coder.language or "", lowercase=False).join(cleaned)
    except TextError:  # unknown language
        return " ".join(cleaned)


def tokens_of_words(words: Sequence[str], sentence: EncodedSentence, coder: Coder) -> NDArray[np.bool_]:
    """The tokens that spell each word: (words, tokens) bool.

    A token that spells the end of one word and the beginning of the next belongs to both. A word of which
    nothing is left after `clean` has none.

    Args:
        words: the given words.
        sentence: the encoded text of the words.
        coder: its coder.
    """
    given = [_visible(clean(word)) for word in words]
    owner_of = np.repeat(np.arange(len(words)), list(map(len, given)))
    own = list(map(_visible, sentence.words))
    owners = _owners("".join(given), owner_of, "".join(own))
    found = np.zeros((len(words), len(sentence.ids)), dtype=np.bool_)
    ends = np.cumsum([0, *map(len, own)])
    for number in range(len(own)):
        tokens = [place for place, word in enumerate(sentence.word_of) if word == number]
        here = owners[ends[number] : ends[number + 1]]
        ids = [sentence.ids[place] for place in tokens]
        for place, (start, stop) in zip(tokens, _spans(ids, len(here), coder), strict=True):
            found[here[start:stop], place] = True
    return found


def _visible(text: str) -> str:
    return "".join(text.split())


def _owners(given: str, owner_of: NDArray[np.int64], own: str) -> NDArray[np.int64]:
    """The given word of each character that the model reads."""
    if given == own or not given:
        return owner_of
    places = [0] * len(own)  # of the given character for each one that the tokenizer wrote otherwise
    for _, start, stop, first, last in SequenceMatcher(None, given, own, autojunk=False).get_opcodes():
        for place in range(first, last):
            inside = (place - first) * (stop - start) // (last - first)
            places[place] = min(start + inside, len(given) - 1)
    return owner_of[places]


def _spans(ids: Sequence[int], n_characters: int, coder: Coder) -> list[tuple[int, int]]:
    """The characters of a word that each of its tokens spells, at least one each.

    In proportion to the decoded text, because a token may be unknown or part of a character.
    """
    if len(ids) == 1 or not n_characters:
        return [(0, n_characters)] * len(ids)
    lengths = [len(_visible(coder.decode(ids[:n]))) for n in range(len(ids) + 1)]
    ends = list(accumulate(lengths, max))
    whole = max(ends[-1], 1)
    places = [end * n_characters // whole for end in ends]
    return [
        (min(start, n_characters - 1), max(stop, min(start, n_characters - 1) + 1))
        for start, stop in pairwise(places)
    ]
