"""Statistics of a model's training pairs, saved with it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import numpy.typing as npt

from transformer.data.encoded import EncodedCorpus
from transformer.experience import Experience
from transformer.text.coder import Coder
from transformer.text.copied import words_of
from transformer.text.subwords import MARK

SHARE = 0.999
"""Share of translations within the length limit for their source length; the rest count as corpus errors."""
ROOM = 5
"""Tokens added to each limit."""


def collect_experience(corpus: EncodedCorpus, source: Coder, target: Coder) -> Experience:
    """Collect the statistics of an encoded corpus, which takes half a minute for ten million tokens."""
    n_pieces = len(target.vocabulary)
    return Experience(
        _longest(*corpus.lengths()),
        n_pieces,
        _joints(corpus, target, n_pieces),
        translated=_translated(corpus, source, target),
    )


def _translated(corpus: EncodedCorpus, source: Coder, target: Coder) -> frozenset[str]:
    """The source words that fewer than half of the translations copy."""
    seen: Counter[str] = Counter()
    copied: Counter[str] = Counter()
    for src, tgt in corpus.pairs():
        words = {word.casefold() for word in words_of(source.decode(src))}
        seen.update(words)
        copied.update(words & {word.casefold() for word in words_of(target.decode(tgt))})
    return frozenset(word for word, count in seen.items() if 2 * copied[word] < count)


def _longest(source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> tuple[int, ...]:
    """For each source length, the length limit for translations of sources up to that length."""
    longest = np.zeros(int(source.max()) + 1, dtype=np.int64)
    order = np.lexsort((target, source))
    lengths, starts = np.unique(source[order], return_index=True)
    for length, group in zip(lengths, np.split(target[order], starts[1:]), strict=True):
        longest[length] = group[math.ceil(SHARE * (len(group) - 1))]
    return tuple((np.maximum.accumulate(longest) + ROOM).tolist())


def _joints(corpus: EncodedCorpus, target: Coder, n_pieces: int) -> npt.NDArray[np.int64]:
    """Pairs of pieces that are adjacent inside a word, as first * n_pieces + second."""
    ids, offsets = corpus.targets()
    begins_word = np.array([target.token(index).startswith(MARK) for index in range(n_pieces)])
    is_joined = ~begins_word[ids]
    is_joined[offsets[:-1][offsets[:-1] < len(ids)]] = False
    places = np.flatnonzero(is_joined)
    return np.unique(ids[places - 1].astype(np.int64) * n_pieces + ids[places])
