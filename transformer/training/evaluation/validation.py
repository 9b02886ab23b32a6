"""Scores a model on validation pairs during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from transformer.data.batches import Example, make_batch
from transformer.data.corpus import read_references
from transformer.files import digest
from transformer.loaded import LoadedModel
from transformer.model_input import encode_sentence
from transformer.training.evaluation.translations import score, translate_all
from transformer.training.optimization.loss import count_labels, cross_entropy

BATCH_SIZE = 64


@dataclass(frozen=True)
class ValidationScores:
    """The scores of a validation.

    Attributes:
        loss: cross-entropy without smoothing, in nats per sub-word.
        bleu: BLEU of greedy translations against all references, 0 to 100.
        chrf: chrF of the same, 0 to 100.
    """

    loss: float
    bleu: float
    chrf: float

    @property
    def merit(self) -> tuple[float, float]:
        """Sort key for choosing weights: higher chrF, then lower loss.

        BLEU is not used: it is 0 for translations of fewer than four tokens, and early in training.
        """
        return self.chrf, -self.loss


@dataclass(frozen=True)
class Translated:
    """A source, the model's translation, and the references."""

    source: str
    translation: str
    references: tuple[str, ...]


def valid_digest(paths: Sequence[Path]) -> str:
    """Digests of the validation files' contents; empty without files."""
    return " ".join(str(digest(path)) for path in paths)


class Validation:
    """Scores a model on pairs from files.

    Args:
        paths: a file of pairs, or two aligned files; a source's further references are on adjacent lines.
        loaded: a model with the same coders as the models to score.

    Attributes:
        sources: the sources with their references.

    Raises:
        CorpusError: for files that can't be read or have no pairs.
        SentenceError: for an empty sentence, or one with more tokens than the model has positions.
    """

    def __init__(self, paths: Sequence[Path], loaded: LoadedModel) -> None:
        self.sources = list(read_references(*paths))
        self._examples = [
            _example(loaded, one.source, reference, one.place)
            for one in self.sources
            for reference in one.references
        ]
        self._examples.sort(key=lambda example: example.length)

    def __call__(self, loaded: LoadedModel) -> ValidationScores:
        """Score a model in eval mode, then restore its mode."""
        was_training = loaded.model.training
        loaded.model.eval()
        translated = self.translate(loaded)
        found = score([one.translation for one in translated], [one.references for one in translated])
        loss = self._loss(loaded)
        loaded.model.train(was_training)
        return ValidationScores(loss, found.bleu, found.chrf)

    def translate(self, loaded: LoadedModel) -> list[Translated]:
        """Translate every source greedily, with the model in eval mode."""
        translations = translate_all(loaded, [one.source for one in self.sources])
        return [
            Translated(one.source, translation, one.references)
            for one, translation in zip(self.sources, translations, strict=True)
        ]

    @torch.inference_mode()
    def _loss(self, loaded: LoadedModel) -> float:
        model, pad_id = loaded.model, loaded.model.config.pad_id
        total, n_labels = 0.0, 0
        for start in range(0, len(self._examples), BATCH_SIZE):
            batch = make_batch(self._examples[start : start + BATCH_SIZE]).to(model.generator.weight.device)
            logits = model(batch.src, batch.tgt)
            total += float(cross_entropy(logits, batch.labels, smoothing=0.0, pad_id=pad_id))
            n_labels += count_labels(batch.labels, pad_id=pad_id)
        return total / n_labels


def _example(loaded: LoadedModel, source: str, target: str, place: str) -> Example:
    src = encode_sentence(loaded, "source", source, f"source at {place}").ids
    tgt = encode_sentence(loaded, "target", target, f"translation at {place}").ids
    return Example.framed(src, tgt)
