"""Aligned words, phrases and sentence pairs: what a synchronous grammar is built of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from random import Random

from transformer.text.words import clean


@dataclass(frozen=True, eq=False)
class SourceWord:
    """One word of a source sentence. Two words of the same text are two words: they compare by identity.

    Attributes:
        text: lower case.
        content: whether it is a noun, verb, adjective or name, of which there are always more to come.
    """

    text: str
    content: bool = False


@dataclass(frozen=True, eq=False)
class TargetWord:
    """One word of a target sentence, and the source words that it translates or agrees with."""

    text: str
    origins: tuple[SourceWord, ...]


@dataclass(frozen=True)
class Phrase:
    """Words in both languages, each side in its own order."""

    source: tuple[SourceWord, ...] = ()
    target: tuple[TargetWord, ...] = ()

    def __add__(self, other: Phrase) -> Phrase:
        """Put one phrase after the other, on both sides."""
        return Phrase(self.source + other.source, self.target + other.target)


NOTHING = Phrase()


def source_words(text: str, *, content: bool = False) -> tuple[SourceWord, ...]:
    """Make source words of a text in which a space separates them."""
    return tuple(SourceWord(word, content) for word in text.split())


def target_words(text: str, origins: Iterable[SourceWord]) -> tuple[TargetWord, ...]:
    """Make target words of a text, each of which comes from all the origins."""
    shared = tuple(origins)
    return tuple(TargetWord(word, shared) for word in text.split())


def phrase(source: str, target: str, *, content: bool = False) -> Phrase:
    """Make a phrase in which each target word comes from every source word."""
    words = source_words(source, content=content)
    return Phrase(words, target_words(target, words))


def idiom(source: str, target: str) -> Phrase:
    """Make a fixed phrase: word by word where both sides have as many, else the last words belong together.

    in the morning, la mattina: morning with mattina, in and the with la. A single word goes with all.
    """
    words, translations = source_words(source), target.split()
    origins: list[tuple[SourceWord, ...]]
    if len(words) == len(translations):
        origins = [(word,) for word in words]
    elif 1 in (len(words), len(translations)):
        origins = [words] * len(translations)
    else:
        origins = [words[:-1]] * (len(translations) - 1) + [words[-1:]]
    return Phrase(
        words, tuple(TargetWord(text, origin) for text, origin in zip(translations, origins, strict=True))
    )


@dataclass(frozen=True)
class SentencePair:
    """A sentence in two languages with its word alignment.

    Attributes:
        source: words, as `transformer.text.words` splits them; lower case.
        target: the same for the translation.
        alignment: pairs (source index, target index); every word of both sides is in one.
        replaceable: the pairs of the alignment that join one content word with one other, both in no other
            pair: the word could be any other of its kind.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    replaceable: frozenset[tuple[int, int]]


def sentence_pair(sentence: Phrase) -> SentencePair:
    """Number the words of a whole sentence and write their alignment down."""
    index = {word: position for position, word in enumerate(sentence.source)}
    links = [(index[origin], j) for j, word in enumerate(sentence.target) for origin in word.origins]
    sources, targets = [i for i, _ in links], [j for _, j in links]
    return SentencePair(
        source=tuple(word.text for word in sentence.source),
        target=tuple(word.text for word in sentence.target),
        alignment=frozenset(links),
        replaceable=frozenset(
            (i, j)
            for i, j in links
            if sentence.source[i].content and sources.count(i) == 1 and targets.count(j) == 1
        ),
    )


def drawn_for_evaluation(words: Sequence[str]) -> bool:
    """Whether a pair that is known by these words is held out from training: about one in forty is."""
    return blake2b(" ".join(words).encode(), digest_size=4).digest()[0] < 256 // 40


class Task(ABC):
    """What can be trained on.

    Attributes:
        name: as users choose it.
        source_language, target_language: codes of the tokenizers.
        about: what a model of it is, for its card.
        limits: what such a model can't do, for its card; {longest} and {max_len} are filled in.
    """

    name: str
    source_language: str
    target_language: str
    about: str
    limits: str

    @abstractmethod
    def sample(self, rng: Random) -> SentencePair:
        """Make a random pair; to train on or held out."""

    def is_held_out(self, pair: SentencePair) -> bool:
        """Whether a pair is for evaluation only."""
        return drawn_for_evaluation(pair.source)

    def pairs(self, seed: int, *, held_out: bool) -> Iterator[SentencePair]:
        """Make pairs without end, all of them held out from training or none."""
        rng = Random(seed)
        while True:
            pair = self.sample(rng)
            if self.is_held_out(pair) == held_out:
                yield pair

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Make so many held-out pairs."""
        return list(islice(self.pairs(seed, held_out=True), count))

    def spell(self, text: str) -> str:
        """Bring typed text into the task's form: clean it."""
        return clean(text)
