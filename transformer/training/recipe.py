"""How a built-in task becomes a trained model: its sizes, its data, its course of learning rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from typing import Literal

import torch

from transformer.checkpoints.folder import LoadedModel, freeze
from transformer.data.batches import Example, batches, build_vocabulary, encode_pair, with_unknown_word
from transformer.data.tasks import SentencePair, Task
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.text.coder import SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer
from transformer.training.schedule import linear_rate
from transformer.training.trainer import TrainingStep, train


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The choices of a training.

    Attributes:
        n_pairs: sentence pairs to train on, each once.
        batch_tokens: positions of a batch.
        peak_rate: the highest learning rate.
        warmup: the share of the steps in which it rises.
        smoothing: of the labels (paper, section 5.4).
        unknown: the share of pairs in which one content word and its translation are replaced by <unk>.
        n_encoder_layers, n_decoder_layers: of the model; its other sizes are those of the preset "toy".
        norm_position: "pre" or "post".
    """

    n_pairs: int = 260_000
    batch_tokens: int = 512
    peak_rate: float = 3e-3
    warmup: float = 0.05
    smoothing: float = 0.05
    unknown: float = 0.05
    n_encoder_layers: int = 2
    n_decoder_layers: int = 2
    norm_position: Literal["pre", "post"] = "pre"


@dataclass
class Training:
    """A training that is ready to run: go through `steps`, and `model` learns.

    Attributes:
        model: with its coders; in training mode until `finish`.
        n_steps: how many `steps` yields.
        steps: the updates.
    """

    model: LoadedModel
    n_steps: int
    steps: Iterator[TrainingStep]

    def finish(self) -> LoadedModel:
        """Freeze the trained model."""
        freeze(self.model.model)
        return self.model


def training_pairs(task: Task, recipe: Recipe, seed: int) -> Iterator[SentencePair]:
    """Make the pairs to train on."""
    return islice(task.pairs(seed, held_out=False), recipe.n_pairs)


def prepare(
    task: Task, pairs: list[SentencePair], recipe: Recipe, *, seed: int, device: torch.device
) -> Training:
    """Get everything ready: vocabularies of the pairs' words, batches, and a model with fresh weights.

    Dropout is 0: the task makes ever new pairs, few of them twice, so there is little to learn by heart.
    """
    source, target = (
        SentenceCoder(WordTokenizer(language, lowercase=True), build_vocabulary(sentences))
        for language, sentences in (
            (task.source_language, [pair.source for pair in pairs]),
            (task.target_language, [pair.target for pair in pairs]),
        )
    )
    generator = torch.Generator().manual_seed(seed)
    examples = encode_pairs(
        pairs, source.vocabulary, target.vocabulary, unknown=recipe.unknown, rng=Random(seed)
    )
    prepared = list(batches(examples, tokens=recipe.batch_tokens, generator=generator))
    model = Transformer(_config(recipe, source, target), generator).to(device)
    rate = partial(
        linear_rate,
        peak=recipe.peak_rate,
        warmup_steps=max(1, round(recipe.warmup * len(prepared))),
        total_steps=len(prepared),
    )
    loaded = LoadedModel(name=task.name, model=model, source=source, target=target)
    return Training(loaded, len(prepared), train(model, prepared, rate=rate, smoothing=recipe.smoothing))


def _config(recipe: Recipe, source: SentenceCoder, target: SentenceCoder) -> TransformerConfig:
    return preset(
        "toy",
        src_vocab_size=len(source.vocabulary),
        tgt_vocab_size=len(target.vocabulary),
        n_encoder_layers=recipe.n_encoder_layers,
        n_decoder_layers=recipe.n_decoder_layers,
        norm_position=recipe.norm_position,
        final_norm=recipe.norm_position == "pre",
        dropout=0.0,
    )


def encode_pairs(
    pairs: Iterable[SentencePair], source: Vocabulary, target: Vocabulary, *, unknown: float, rng: Random
) -> list[Example]:
    """Turn pairs into ids; in a share of them, `unknown`, a word and its translation become <unk>."""
    examples = []
    for pair in pairs:
        example = encode_pair(pair, source, target)
        examples.append(with_unknown_word(pair, example, rng) if rng.random() < unknown else example)
    return examples
