"""Scores on a built-in task: exact matches, and attention against gold alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from transformer.data.batches import encode_pair, make_batch, pad
from transformer.data.tasks import SentencePair
from transformer.decoding.greedy import greedy_batch
from transformer.errors import TextError
from transformer.loaded import LoadedModel
from transformer.model.trace import Recorder
from transformer.model_input import decoding_request, target_limit
from transformer.text.coder import Coder, SentenceCoder
from transformer.text.vocabulary import EOS_ID

BATCH_SIZE = 200


@dataclass(frozen=True)
class Translation:
    """A pair and the words of the model's translation."""

    pair: SentencePair
    words: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """True if the translation equals the target."""
        return self.words == self.pair.target


@dataclass(frozen=True)
class HeadAlignment:
    """How well a cross-attention head follows the gold alignment.

    Attributes:
        layer, head: decoder layer and head, from 0.
        accuracy: share of target words whose query (the position that predicts the word) attends most to a
            source word aligned with it.
    """

    layer: int
    head: int
    accuracy: float


def translations(loaded: LoadedModel, pairs: Sequence[SentencePair]) -> Iterator[Translation]:
    """Translate the sources greedily in batches, in order."""
    device = loaded.model.generator.weight.device
    source = word_coder(loaded.source).vocabulary
    for start in range(0, len(pairs), BATCH_SIZE):
        batch = pairs[start : start + BATCH_SIZE]
        sources = [(*source.encode(pair.source), EOS_ID) for pair in batch]
        limits = [target_limit(loaded, len(ids)) for ids in sources]
        request = decoding_request(loaded, loaded.start_ids, limits)
        decoded = greedy_batch(loaded.model, pad(sources).to(device), request)
        for pair, target in zip(batch, decoded, strict=True):
            yield Translation(pair, tuple(map(loaded.target.token, target.ids)))


@torch.inference_mode()
def head_alignments(loaded: LoadedModel, pairs: Sequence[SentencePair]) -> list[HeadAlignment]:
    """Compare every cross-attention head with the gold alignments; the best head is first."""
    device = loaded.model.generator.weight.device
    config = loaded.model.config
    source, target = word_coder(loaded.source).vocabulary, word_coder(loaded.target).vocabulary
    hits = torch.zeros(config.n_decoder_layers, config.n_heads, dtype=torch.long)
    words = 0
    for start in range(0, len(pairs), BATCH_SIZE):
        batch = pairs[start : start + BATCH_SIZE]
        examples = [encode_pair(pair, source, target) for pair in batch]
        padded = make_batch(examples).to(device)
        recorder = Recorder(keep=lambda path: path.endswith("cross_attn.weights"))
        loaded.model(padded.src, padded.tgt, tap=recorder)
        gold = torch.zeros(
            len(batch), padded.tgt.shape[1], padded.src.shape[1], dtype=torch.bool
        )  # (B, Q, K)
        for b, pair in enumerate(batch):
            for i, j in pair.alignment:
                gold[b, j, i] = True  # query j (<bos> is 0) predicts target word j
        words += int(gold.any(dim=-1).sum())
        for layer in range(config.n_decoder_layers):
            weights = recorder.records[f"decoder.layers.{layer}.cross_attn.weights"].cpu()  # (B, H, Q, K)
            most_attended = weights.argmax(dim=-1, keepdim=True)  # (B, H, Q, 1)
            right = gold[:, None].expand_as(weights).gather(-1, most_attended)
            hits[layer] += right.sum(dim=(0, 2, 3))
    found = [
        HeadAlignment(layer, head, hits[layer, head].item() / words)
        for layer in range(config.n_decoder_layers)
        for head in range(config.n_heads)
    ]
    return sorted(found, key=lambda alignment: -alignment.accuracy)


def word_coder(coder: Coder) -> SentenceCoder:
    """Return the coder if it is a whole-word coder, as built-in tasks need.

    Raises:
        TextError: for a sub-word coder.
    """
    if not isinstance(coder, SentenceCoder):
        raise TextError("Built-in tasks have whole words: evaluate a model that reads whole words.")
    return coder
