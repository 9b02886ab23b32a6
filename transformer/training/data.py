"""What a training run learns from, round after round: an encoded corpus, or the pairs of a built-in task."""

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
"""The share of a task's pairs in which a word and its translation become <unk>, where it has such words."""
POOL = 600
"""Pairs of a round, where each round draws its own."""


class CorpusData:
    """All pairs of an encoded corpus in every round, in an order of its own.

    Attributes:
        identity: a name of the data and of all that was done with them.
        description: what there is to say of them, plain values.
    """

    def __init__(self, corpus: EncodedCorpus, updates: UpdatePlan) -> None:
        self.corpus = corpus
        self.description: Mapping[str, Any] = corpus.description | {"pairs": len(corpus)}
        text = json.dumps(corpus.description.get("fingerprint"), sort_keys=True)
        self.identity = hashlib.sha256(text.encode()).hexdigest()
        self._updates = updates

    @property
    def n_labels(self) -> int:
        """Tokens to be predicted in one round through all pairs: those of the targets, <eos> included."""
        return int(self.corpus.lengths()[1].sum())

    def epoch(self, number: int) -> Sequence[Any]:
        """Groups of pairs of similar length, in the order of a round, from 0; computed in a moment."""
        updates = self._updates
        return epoch_batches(self.corpus, tokens=updates.batch_tokens, seed=updates.seed, epoch=number)

    def batch(self, group: Any) -> Batch:
        """Read a group of pairs."""
        return self.corpus.batch(group)


class TaskData:
    """The pairs of a built-in task.

    Args:
        task: that they are drawn from.
        pairs: that every round goes through; none to draw others for each round.
        vocabularies: of the source and of the target.
        updates: the seed and the size of batches.

    Attributes:
        identity, description: as of `CorpusData`.
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
        """Tokens to be predicted in one round through all pairs; 0 where each round has its own."""
        return sum(len(example.tgt) - 1 for example in self._examples)

    def epoch(self, number: int) -> list[Batch]:
        """The batches of a round."""
        return self.ordered(number)[0]

    def ordered(self, number: int) -> tuple[list[Batch], torch.Generator]:
        """The batches of a round, and the generator that drew their order, as it is after that."""
        examples, seed = self._examples, self._updates.seed + number
        if not examples:
            seed = self._updates.seed * 100_003 + number
            pairs = islice(self._task.pairs(seed, held_out=False), POOL)
            examples = encode_pairs(pairs, self._vocabularies, Random(seed))
        generator = torch.Generator().manual_seed(seed)
        return list(batches(examples, tokens=self._updates.batch_tokens, generator=generator)), generator

    def batch(self, group: Batch) -> Batch:
        """The batch itself."""
        return group


TrainingData = CorpusData | TaskData
"""Batches in rounds. The same round has the same batches in the same order, whenever it is asked for."""


def encode_pairs(
    pairs: Iterable[SentencePair], vocabularies: tuple[Vocabulary, Vocabulary], rng: Random
) -> list[Example]:
    """Turn pairs into ids; in a share of them, `UNKNOWN`, a word and its translation become <unk>."""
    examples = []
    for pair in pairs:
        example = encode_pair(pair, *vocabularies)
        examples.append(with_unknown_word(pair, example, rng) if rng.random() < UNKNOWN else example)
    return examples
