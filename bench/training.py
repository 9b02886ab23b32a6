"""Training tokens a second: ours beside torch.nn.Transformer and Hugging Face's MarianMTModel."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.marian import marian_model
from bench.torch_transformer import TorchTranslator
from transformer.data.batches import Batch
from transformer.data.encoded import EncodedCorpus, epoch_batches, write_corpus
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import SPECIALS
from transformer.training.optimization.loss import count_labels
from transformer.training.optimization.trainer import Precision, Trainer
from transformer.training.process import keep_freed_memory

VOCAB_SIZE = 6000
N_PAIRS = 20_000
BATCH_TOKENS = {"cpu": 2048, "cuda": 16_384}
N_BATCHES, N_ROUNDS = 6, 5
SMOOTHING = 0.1
Update = Callable[[Batch], object]


@dataclass(frozen=True)
class TrainingSpeed:
    """Target tokens a second of one trainer, padding not counted.

    Attributes:
        name: of the trainer.
        precision: of its products of matrices.
        tokens_per_second: the median of some rounds.
        times_ours: how many times ours is as fast, the median of the rounds' ratios.
    """

    name: str
    precision: Precision
    tokens_per_second: float
    times_ours: float


def small_config() -> TransformerConfig:
    """The sizes that are measured: those of the shipped translator."""
    return preset(
        "small",
        src_vocab_size=VOCAB_SIZE,
        tgt_vocab_size=VOCAB_SIZE,
        norm_position="pre",
        final_norm=True,
        dropout=0.1,
    )


def measure_training(
    precision: Precision,
    device: torch.device,
    config: TransformerConfig | None = None,
    *,
    n_pairs: int = N_PAIRS,
    n_rounds: int = N_ROUNDS,
) -> list[TrainingSpeed]:
    """Let all trainers make the same updates in turns, so that other load on the machine strikes all of them.

    The last one is ours again, on batches of pairs as chance brings them together: what bucketing gains.
    """
    config = config or small_config()
    if device.type == "cpu":
        keep_freed_memory()  # for theirs as for ours
    tokens = BATCH_TOKENS[device.type]
    with TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder), random_pairs(n_pairs))
        bucketed = _some(corpus, epoch_batches(corpus, tokens=tokens, seed=1, epoch=0), device)
        by_chance = _some(corpus, random_batches(corpus, tokens=tokens, seed=1), device)
    work: list[tuple[str, Update, Sequence[Batch]]] = [
        ("Headlight", our_update(config, precision, device), bucketed),
        ("torch.nn.Transformer", their_update(TorchTranslator(config).to(device), precision), bucketed),
        ("MarianMTModel", their_update(MarianTranslator(config).to(device), precision), bucketed),
        ("Headlight, random batches", our_update(config, precision, device), by_chance),
    ]
    rounds = [[_speed(update, batches, device) for _, update, batches in work] for _ in range(n_rounds + 1)]
    columns = list(zip(*rounds[1:], strict=True))  # the first one warms up
    return [
        TrainingSpeed(
            name,
            precision,
            statistics.median(speeds),
            statistics.median(ours / theirs for ours, theirs in zip(columns[0], speeds, strict=True)),
        )
        for (name, _, _), speeds in zip(work, columns, strict=True)
    ]


def random_pairs(n: int) -> list[tuple[list[int], list[int]]]:
    """Ids of pairs as long as sentences of everyday speech are: ten sub-words about, few of them over 30."""
    rng = random.Random(1)
    pairs = []
    for _ in range(n):
        source = min(99, max(2, round(rng.lognormvariate(2.2, 0.45))))
        target = min(99, max(2, round(source * rng.lognormvariate(0.0, 0.2))))
        pairs.append(tuple(rng.choices(range(len(SPECIALS), VOCAB_SIZE), k=k) for k in (source, target)))
    return [(source, target) for source, target in pairs]


def random_batches(corpus: EncodedCorpus, *, tokens: int, seed: int) -> list[np.ndarray]:
    """Share pairs out among batches in random order, each as full as `epoch_batches` makes them."""
    longest = corpus.lengths().max(axis=0)
    groups: list[list[int]] = [[]]
    width = 0
    for index in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        width = max(width, int(longest[index]))
        if groups[-1] and width * (len(groups[-1]) + 1) > tokens:
            groups.append([])
            width = int(longest[index])
        groups[-1].append(index)
    return [np.array(group) for group in groups]


def our_update(config: TransformerConfig, precision: Precision, device: torch.device) -> Update:
    """The updates of `python -m transformer train`."""
    model = Transformer(config, torch.Generator().manual_seed(1)).to(device)
    trainer = Trainer(model, rate=lambda step: 1e-4, smoothing=SMOOTHING, precision=precision)
    return lambda batch: trainer.update([batch])


def their_update(model: nn.Module, precision: Precision) -> Update:
    """The same update, written as one writes it: the same optimizer, clipping, smoothing and precision."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    device = next(model.parameters()).device.type
    model.train()

    def update(batch: Batch) -> float:
        optimizer.zero_grad()
        with torch.autocast(device, getattr(torch, precision), enabled=precision != "float32"):
            logits = model(batch.src, batch.tgt)
            loss = functional.cross_entropy(
                logits.flatten(0, 1), batch.labels.flatten(), ignore_index=0, label_smoothing=SMOOTHING
            )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    return update


class MarianTranslator(nn.Module):
    """MarianMTModel under the same call, its generator tied as ours is."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        self.model = marian_model(config)
        self.model.lm_head.weight = self.model.model.decoder.embed_tokens.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(B, S) and (B, T) ids -> (B, T, V) logits."""
        logits: Tensor = self.model(
            input_ids=src,
            attention_mask=(src != self.pad_id).long(),
            decoder_input_ids=tgt,
            decoder_attention_mask=(tgt != self.pad_id).long(),
            use_cache=False,
        ).logits
        return logits


def _some(corpus: EncodedCorpus, groups: Sequence[np.ndarray], device: torch.device) -> list[Batch]:
    return [corpus.batch(group).to(device) for group in groups[:N_BATCHES]]


def _speed(update: Update, batches: Sequence[Batch], device: torch.device) -> float:
    """Target tokens a second of an update with each batch."""
    n_tokens = sum(count_labels(batch.labels, pad_id=0) for batch in batches)
    _finish(device)
    started = time.perf_counter()
    for batch in batches:
        update(batch)
    _finish(device)
    return n_tokens / (time.perf_counter() - started)


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
