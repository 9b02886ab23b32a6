"""Converts sentence pairs to padded batches of ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import torch
from torch import Tensor

from transformer.data.tasks import SentencePair
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Vocabulary


@dataclass(frozen=True)
class Example:
    """A sentence pair as ids.

    Attributes:
        src: the source and <eos>.
        tgt: <bos>, the target and <eos>. Without its last id it is the decoder's input, without its first id
            the labels.
    """

    src: tuple[int, ...]
    tgt: tuple[int, ...]

    @classmethod
    def framed(cls, source: Iterable[int], target: Iterable[int]) -> Example:
        """Add <bos> and <eos> to the ids of a pair."""
        return cls(src=(*source, EOS_ID), tgt=(BOS_ID, *target, EOS_ID))

    @property
    def length(self) -> int:
        """Number of positions of the longer side."""
        return max(len(self.src), len(self.tgt) - 1)


@dataclass(frozen=True)
class Batch:
    """Padded ids: src (B, S), the decoder's input tgt (B, T), and labels (B, T), one step ahead of tgt."""

    src: Tensor
    tgt: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> Batch:
        """Copy the batch to a device."""
        return Batch(self.src.to(device), self.tgt.to(device), self.labels.to(device))


def build_vocabulary(sentences: Iterable[Sequence[str]]) -> Vocabulary:
    """Build a vocabulary of all words, the most frequent first."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return Vocabulary(word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def encode_pair(pair: SentencePair, source: Vocabulary, target: Vocabulary) -> Example:
    """Encode a pair of word lists."""
    return Example.framed(source.encode(pair.source), target.encode(pair.target))


def with_unknown_word(pair: SentencePair, example: Example, rng: Random) -> Example:
    """Replace a content word and its translation by <unk>, if the pair has one.

    A model trained on some of these learns to put an unknown word in its place and translate the rest around
    it, instead of guessing.
    """
    if not pair.replaceable:
        return example
    i, j = rng.choice(sorted(pair.replaceable))
    src, tgt = list(example.src), list(example.tgt)
    src[i], tgt[j + 1] = UNK_ID, UNK_ID  # tgt begins with <bos>
    return Example(tuple(src), tuple(tgt))


def pad(sequences: Sequence[Sequence[int]], pad_id: int = PAD_ID) -> Tensor:
    """Pad to the longest: (B, L) int64."""
    longest = max(map(len, sequences))
    return torch.tensor([[*sequence, *[pad_id] * (longest - len(sequence))] for sequence in sequences])


def make_batch(examples: Sequence[Example]) -> Batch:
    """Pad examples to one batch."""
    tgt = pad([example.tgt[:-1] for example in examples])
    return Batch(
        src=pad([example.src for example in examples]), tgt=tgt, labels=pad([e.tgt[1:] for e in examples])
    )


def batches(examples: Sequence[Example], *, tokens: int, generator: torch.Generator) -> Iterator[Batch]:
    """Yield all examples once, in random order, in batches of similar length.

    Args:
        examples: at least one example.
        tokens: most positions per batch on its longer side, including padding; a longer example gets a batch
            of its own.
        generator: determines the order.
    """
    order = torch.randperm(len(examples), generator=generator).tolist()
    order.sort(key=lambda index: (examples[index].length, len(examples[index].src), len(examples[index].tgt)))
    starts = batch_starts((examples[index].length for index in order), tokens)
    groups = [order[start:end] for start, end in pairwise([*starts, len(order)])]
    for group in torch.randperm(len(groups), generator=generator).tolist():
        yield make_batch([examples[index] for index in groups[group]])


def batch_starts(lengths: Iterable[int], tokens: int) -> list[int]:
    """Find where batches start among examples of ascending length, so that none exceeds `tokens` positions.

    A longer example gets a batch of its own.

    Args:
        lengths: lengths in positions, ascending, so the newest example of a batch is its longest.
        tokens: most positions per batch, including padding.
    """
    starts = [0]
    for place, length in enumerate(lengths):
        if place > starts[-1] and length * (place + 1 - starts[-1]) > tokens:
            starts.append(place)
    return starts
