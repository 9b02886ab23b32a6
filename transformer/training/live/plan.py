"""What a live training is asked to do: small enough that one can wait for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, Literal

import torch

from transformer.checkpoints.folder import LoadedModel, open_coders
from transformer.data.tasks import TASKS, SymbolTask, Task
from transformer.data.tasks.symbols import SYMBOLS
from transformer.model.config import NORM_POSITIONS, NormPosition, TransformerConfig
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder, SentenceCoder
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer, clean
from transformer.training.schedule import cosine_rate, inverse_root_rate, linear_rate

TaskName = Literal["toy-en-it", "copy", "reverse", "sort"]
Schedule = Literal["linear", "cosine", "inverse-root"]

WARMUP = 0.1
"""The share of the steps in which the learning rate rises."""
BATCH_TOKENS = 512
"""Positions of a batch, padding included."""
UNKNOWN = 0.05
"""The share of sentences in which a word and its translation become <unk>, where the task has such words."""
MAX_LEN = {"toy-en-it": 128, "copy": 32, "reverse": 32, "sort": 32}
"""The longest sentence, in tokens, that a model of the task accepts."""


RANGES = {
    "n_layers": (1, 6),
    "n_heads": (1, 16),
    "d_model": (2, 256),
    "steps": (1, 20_000),
    "seed": (0, 2**31 - 1),
}
"""The least and the most of the whole numbers; a server has other people to serve too."""
CHOICES = {
    "task": tuple(TASKS),
    "norm_position": NORM_POSITIONS,
    "schedule": ("linear", "cosine", "inverse-root"),
}


class LivePlanError(ValueError):
    """Choices that no training can be made of; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class LivePlan:
    """All choices of a live training: the same plan gives the same weights.

    Attributes:
        task: what is learned.
        n_layers: of the encoder, and as many of the decoder.
        n_heads: attention heads a layer.
        d_model: width of the residual stream; the feed-forward is four times as wide.
        norm_position: "pre" or "post".
        steps: updates.
        peak_rate: the highest learning rate.
        schedule: the course of the learning rate after its rise.
        seed: of the first weights and of the sentences.

    Raises:
        LivePlanError: for a choice that is none, or a number that is too small or too large.
    """

    task: TaskName = "reverse"
    n_layers: int = 2
    n_heads: int = 4
    d_model: int = 64
    norm_position: NormPosition = "pre"
    steps: int = 1000
    peak_rate: float = 3e-3
    schedule: Schedule = "linear"
    seed: int = 1

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise LivePlanError(f"{name} is {getattr(self, name)!r}: choose one of {', '.join(allowed)}.")
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise LivePlanError(f"{name} is {value!r}: it is a whole number from {least:,} to {most:,}.")
        if type(self.peak_rate) not in (int, float) or not 0 < self.peak_rate <= 1:
            raise LivePlanError(f"peak_rate is {self.peak_rate!r}: it must be above 0 and at most 1.")
        if self.d_model % 2 or self.d_model % self.n_heads:
            raise LivePlanError(
                f"d_model {self.d_model} can't be split into {self.n_heads} equal heads, or is odd: "
                "choose an even width that the number of heads divides."
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LivePlan:
        """The inverse of `to_dict`. Raises LivePlanError for a choice that is unknown or missing."""
        if set(values) != {field.name for field in fields(cls)}:
            raise LivePlanError(f"These are not the choices of a live training: {', '.join(values)}.")
        return cls(**values)

    @property
    def rules(self) -> Task:
        """The task itself."""
        return TASKS[self.task]

    def coders(self) -> tuple[Coder, Coder]:
        """What reads and writes the task's sentences; English and Italian know the shipped model's words.

        Raises:
            CheckpointError: when the shipped model's vocabularies can't be read.
        """
        if isinstance(self.rules, SymbolTask):
            coder = SentenceCoder(WordTokenizer("en", lowercase=True), Vocabulary(SYMBOLS))
            return coder, coder
        return open_coders(self.task)

    def new_model(self, generator: torch.Generator | None = None) -> LoadedModel:
        """Make the model with random weights and its coders.

        Raises:
            ConfigError: when the sizes make no model.
            CheckpointError: when the vocabularies can't be read.
        """
        source, target = self.coders()
        config = TransformerConfig(
            src_vocab_size=len(source.vocabulary),
            tgt_vocab_size=len(target.vocabulary),
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_encoder_layers=self.n_layers,
            n_decoder_layers=self.n_layers,
            d_ff=4 * self.d_model,
            max_len=MAX_LEN[self.task],
            dropout=0.0,  # few sentences come twice, so there is little to learn by heart
            norm_position=self.norm_position,
            final_norm=self.norm_position == "pre",
        )
        return LoadedModel(self.task, Transformer(config, generator), source, target)

    def rate(self) -> Callable[[int], float]:
        """The learning rate of a step, counted from 1."""
        warmup = max(1, round(WARMUP * self.steps))
        if self.schedule == "inverse-root":
            return partial(inverse_root_rate, peak=self.peak_rate, warmup_steps=warmup)
        course = linear_rate if self.schedule == "linear" else cosine_rate
        return partial(course, peak=self.peak_rate, warmup_steps=warmup, total_steps=self.steps)

    def spell(self, text: str) -> str:
        """Bring typed text into the task's form.

        Where the words are symbols, spaces come between them and capital letters become small ones.
        """
        cleaned = clean(text)
        if not isinstance(self.rules, SymbolTask):
            return cleaned
        return " ".join(map(_symbol, cleaned.replace(" ", "")))


def _symbol(character: str) -> str:
    small = character.lower()
    return small if small in SYMBOLS else character
