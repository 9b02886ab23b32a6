"""Training tokens per second: ours against torch.nn.Transformer and Hugging Face's MarianMTModel."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.measurement import PerSecond, Ratio, in_turn, ratio
from bench.parts.decoding import VOCAB_SIZE
from bench.peers.marian import marian_model
from bench.peers.torch_transformer import TorchTranslator
from bench.setting import Setting
from transformer.data.batches import Batch
from transformer.data.encoded import EncodedCorpus, epoch_batches, write_corpus
from transformer.device import choose_device
from transformer.model.config import TransformerConfig, preset
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import SPECIALS
from transformer.training.optimization.loss import count_labels
from transformer.training.optimization.trainer import Precision, Trainer
from transformer.training.process import keep_freed_memory

BATCH_TOKENS = {"cpu": 2048, "cuda": 16_384}
N_BATCHES = 6
SMOOTHING = 0.1
Update = Callable[[Batch], object]


@dataclass(frozen=True)
class TrainingSpeed:
    """Target tokens per second of one trainer, without padding.

    Attributes:
        precision: of the trainer's matrix products.
        trainer: ours, theirs, or ours on random batches.
        tokens: median over the rounds.
        ours_is_faster: our speed divided by this trainer's.
    """

    precision: Precision
    trainer: str
    tokens: PerSecond
    ours_is_faster: Ratio


def measure(setting: Setting) -> list[TrainingSpeed]:
    """Train in each precision, on the device that training would choose."""
    if setting.smallest:
        return measure_training(config_of("toy", d_model=32), "float32", torch.device("cpu"), 100, rounds=1)
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    small = config_of("small", dropout=0.1)  # the shipped translator's sizes
    return [
        speed for precision in precisions for speed in measure_training(small, precision, choose_device())
    ]


def config_of(name: str, **changes: Any) -> TransformerConfig:
    """A preset with pre-norm and a vocabulary as large as en-it's."""
    changes |= {"src_vocab_size": VOCAB_SIZE, "tgt_vocab_size": VOCAB_SIZE}
    return preset(name, norm_position="pre", final_norm=True, **changes)


def measure_training(
    config: TransformerConfig,
    precision: Precision,
    device: torch.device,
    n_pairs: int = 20_000,
    rounds: int = 6,
) -> list[TrainingSpeed]:
    """Make the same updates with all trainers.

    The last one is ours again, on batches of random pairs: it shows what bucketing by length gains.
    """
    if device.type == "cpu":
        keep_freed_memory()  # for all trainers
    tokens = BATCH_TOKENS[device.type]
    with TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder), random_pairs(n_pairs))
        bucketed = _some(corpus, epoch_batches(corpus, tokens=tokens, seed=1, epoch=0), device)
        by_chance = _some(corpus, random_batches(corpus, tokens=tokens, seed=1), device)
    work: dict[str, tuple[Update, Sequence[Batch]]] = {
        "Headlight": (our_update(config, precision, device), bucketed),
        "torch.nn.Transformer": (their_update(TorchTranslator(config).to(device), precision), bucketed),
        "MarianMTModel": (their_update(MarianTranslator(config).to(device), precision), bucketed),
        "Headlight, random batches": (our_update(config, precision, device), by_chance),
    }
    train_ours, *others = [partial(_speed, update, batches, device) for update, batches in work.values()]
    ours, theirs = in_turn(train_ours, others, rounds)
    return [
        TrainingSpeed(precision, name, PerSecond(statistics.median(speeds)), ratio(ours, speeds))
        for name, speeds in zip(work, (ours, *theirs), strict=True)
    ]


def random_pairs(n: int) -> list[tuple[list[int], list[int]]]:
    """Pairs of id sequences as long as everyday sentences: about ten sub-words, rarely over 30."""
    rng = random.Random(1)
    pairs = []
    for _ in range(n):
        source = min(99, max(2, round(rng.lognormvariate(2.2, 0.45))))
        target = min(99, max(2, round(source * rng.lognormvariate(0.0, 0.2))))
        pairs.append(tuple(rng.choices(range(len(SPECIALS), VOCAB_SIZE), k=k) for k in (source, target)))
    return [(source, target) for source, target in pairs]


def random_batches(corpus: EncodedCorpus, *, tokens: int, seed: int) -> list[np.ndarray]:
    """Fill batches with pairs in random order, each as full as those of `epoch_batches`."""
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
    """The update of `python -m transformer train`."""
    model = Transformer(config, torch.Generator().manual_seed(1)).to(device)
    trainer = Trainer(model, rate=lambda step: 1e-4, smoothing=SMOOTHING, precision=precision)
    return lambda batch: trainer.update([batch])


def their_update(model: nn.Module, precision: Precision) -> Update:
    """The same update in plain PyTorch: the same optimizer, clipping, smoothing and precision."""
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
    """MarianMTModel with the same call signature as ours, and its generator tied like ours."""

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
    """Target tokens per second, with one update per batch."""
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
