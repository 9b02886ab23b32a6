"""Converts a corpus of sentence pairs to sub-word vocabularies and ids on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from random import Random

from transformer.data.encoded import EncodedCorpus, EncodedCorpusError, write_corpus
from transformer.data.noise import add_typing_noise
from transformer.text.subwords import SubwordCoder, learn_subwords
from transformer.text.words import WordTokenizer

Pairs = Callable[[], Iterable[tuple[str, str]]]
"""Function that reads the filtered corpus from the start at each call: (source, target) pairs."""


def with_typing_noise(pairs: Iterable[tuple[str, str]], share: float, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs, repeating a share of them with typing noise in the source."""
    rng = Random(seed)
    for source, target in pairs:
        yield source, target
        if rng.random() < share:
            yield add_typing_noise(source, rng), target


def learn_coders(
    pairs: Pairs, languages: tuple[str, str], *, vocab_size: int, shared: bool = False, lowercase: bool
) -> tuple[SubwordCoder, SubwordCoder]:
    """Learn sub-words for each side, or `shared` ones for both, reading the corpus twice."""
    tokenizers = [WordTokenizer(language, lowercase=lowercase) for language in languages]

    def words(side: int) -> Iterator[tuple[str, bool]]:
        for pair in pairs():
            yield from tokenizers[side].spaced_words(pair[side].lower() if lowercase else pair[side])

    if shared:
        vocabularies = [learn_subwords(chain(words(0), words(1)), size=vocab_size)] * 2
    else:
        vocabularies = [learn_subwords(words(side), size=vocab_size) for side in range(2)]
    source, target = map(SubwordCoder, tokenizers, vocabularies)
    return source, target


def encode_corpus(
    folder: Path,
    pairs: Pairs,
    source: SubwordCoder,
    target: SubwordCoder,
    *,
    longest: int,
    describe: Callable[[], dict[str, object]] = dict,
) -> EncodedCorpus:
    """Write the ids of a corpus, leaving out pairs with more than `longest` sub-words on either side.

    The corpus's description is the result of `describe`, called after the last pair, with the number
    "left_out".

    Raises:
        EncodedCorpusError: when no pair is left.
    """
    left_out = kept = 0

    def encoded() -> Iterator[tuple[list[int], list[int]]]:
        nonlocal left_out, kept
        for pair in pairs():
            ids = source.encode(pair[0]).ids, target.encode(pair[1]).ids
            if max(map(len, ids)) > longest:
                left_out += 1
            else:
                kept += 1
                yield ids
        if not kept:
            raise EncodedCorpusError(
                f"No pair is left to learn from: all {left_out:,} have more than {longest} sub-words on a "
                "side. Allow more with --longest."
            )

    return write_corpus(folder, encoded(), lambda: describe() | {"left_out": left_out})
