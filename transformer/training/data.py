"""Training data in epochs: an encoded corpus, or the pairs of a built-in task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

import torch

from transformer.data.batches import Batch, Example, batches, encode_pair, with_unknown_word
from transformer.data.encoded import EncodedCorpus, epoch_batches
from transformer.data.tasks import SentencePair, Task
from transformer.text.vocabulary import Vocabulary
from transformer.training.plan import UpdatePlan

UNKNOWN = 0.05
"""Share of a task's pairs in which a content word and its translation become <unk>."""
POOL = 600
"""Pairs per epoch if each epoch draws new ones."""


class CorpusData:
    """An encoded corpus, shuffled differently in every epoch.

    Attributes:
        identity: digest of the data and their processing.
        description: plain values for the metrics and the card.
    """

    def __init__(self, corpus: EncodedCorpus, updates: UpdatePlan) -> None:
        self.corpus = corpus
        self.description: Mapping[str, Any] = corpus.description | {"pairs": len(corpus)}
        text = json.dumps(corpus.description.get("fingerprint"), sort_keys=True)
        self.identity = hashlib.sha256(text.encode()).hexdigest()
        self._updates = updates

    @property
    def n_labels(self) -> int:
        """Tokens to predict in one epoch, <eos> included."""
        return int(self.corpus.lengths()[1].sum())

    def epoch(self, number: int) -> Sequence[Any]:
        """Groups of pairs of similar length, in the order of epoch `number` (from 0)."""
        updates = self._updates
        return epoch_batches(self.corpus, tokens=updates.batch_tokens, seed=updates.seed, epoch=number)

    def batch(self, group: Any) -> Batch:
        """Read a group of pairs as a batch."""
        return self.corpus.batch(group)


class TaskData:
    """The pairs of a built-in task.

    Args:
        task: the source of the pairs.
        pairs: the pairs of every epoch; empty to draw new ones for each epoch.
        vocabularies: source and target vocabulary.
        updates: the plan with the seed and the batch size.

    Attributes:
        identity, description: see `CorpusData`.
    """

    def __init__(
        self,
        task: Task,
        pairs: Sequence[SentencePair],
        vocabularies: tuple[Vocabulary, Vocabulary],
        updates: UpdatePlan,
    ) -> None:
        self._task, self._vocabularies, self._updates = task, vocabularies, updates
        self._examples = encode_pairs(pairs, vocabularies, Random(updates.seed))
        self.identity = f"{task.name}, {len(pairs)} pairs, seed {updates.seed}"
        self.description = {
            "pairs": len(pairs),
            "different": len({(pair.source, pair.target) for pair in pairs}),
            "longest": max((len(pair.source) for pair in pairs), default=0),
        }

    @property
    def n_labels(self) -> int:
        """Tokens to predict in one epoch; 0 if each epoch draws new pairs."""
        return sum(len(example.tgt) - 1 for example in self._examples)

    def epoch(self, number: int) -> list[Batch]:
        """The batches of an epoch."""
        return self.ordered(number)[0]

    def ordered(self, number: int) -> tuple[list[Batch], torch.Generator]:
        """The batches of an epoch, and the generator after drawing their order."""
        examples, seed = self._examples, self._updates.seed + number
        if not examples:
            seed = self._updates.seed * 100_003 + number
            pairs = islice(self._task.pairs(seed, held_out=False), POOL)
            examples = encode_pairs(pairs, self._vocabularies, Random(seed))
        generator = torch.Generator().manual_seed(seed)
        return list(batches(examples, tokens=self._updates.batch_tokens, generator=generator)), generator

    def batch(self, group: Batch) -> Batch:
        """The batch, which needs no reading."""
        return group


TrainingData = CorpusData | TaskData
"""Batches by epoch; an epoch always has the same batches in the same order."""


def encode_pairs(
    pairs: Iterable[SentencePair], vocabularies: tuple[Vocabulary, Vocabulary], rng: Random
) -> list[Example]:
    """Encode pairs; in a share `UNKNOWN` of them, a word and its translation become <unk>."""
    examples = []
    for pair in pairs:
        example = encode_pair(pair, *vocabularies)
        examples.append(with_unknown_word(pair, example, rng) if rng.random() < UNKNOWN else example)
    return examples
