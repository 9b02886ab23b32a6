"""All choices of a training over a corpus: what the command line asks for and what is kept with the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from transformer.data.filters import Filters
from transformer.model.config import NormPosition, TransformerConfig, preset
from transformer.training.schedule import cosine_rate, inverse_root_rate, linear_rate, paper_rate
from transformer.training.trainer import Precision

Schedule = Literal["linear", "cosine", "inverse-root", "paper"]

_LEAST = {
    "data.longest": 1,
    "filters.max_ratio": 1,
    "updates.steps": 1,
    "updates.batch_tokens": 1,
    "updates.accumulate": 1,
    "updates.warmup": 1,
    "updates.seed": 0,
    "checks.validate_every": 1,
    "checks.patience": 0,
    "checks.save_every": 1,
    "checks.average": 0,
    "checks.snapshots": 0,
    "checks.log_every": 1,
    "result.max_file_mib": 1,
}


class PlanError(ValueError):
    """Choices that no training can be made of; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class DataPlan:
    """What is learnt from.

    Attributes:
        pairs: a TSV file of source, tab, target, or two aligned files of a sentence a line; plain or gzipped.
            Given several times, all of them are learnt.
        languages: codes of the two, as spaCy has them.
        lowercase: bring all sentences into lower case.
        vocab_size: sub-words of each side, at most.
        longest: leave out pairs with more sub-words on a side.
        careless: the share of pairs that come once more as people type in a hurry.
    """

    pairs: tyro.conf.UseAppendAction[tuple[tuple[Path, ...], ...]] = ()
    languages: tuple[str, str] = ("en", "it")
    lowercase: bool = False
    vocab_size: int = 6000
    longest: int = 100
    careless: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """The model.

    Attributes:
        preset: sizes by name; those below replace its own.
        d_model: width of the residual stream.
        n_heads: attention heads a layer.
        n_encoder_layers: of the encoder.
        n_decoder_layers: of the decoder.
        d_ff: hidden width of the feed-forward.
        max_len: the longest sentence, in sub-words, that it will accept.
        dropout: the share of numbers that a training sets to 0.
        norm_position: "pre", which trains more easily and gets a final norm, or "post", the paper's.
        activation: of the feed-forward.
        positions: sinusoidal, the paper's, or learned.
    """

    preset: Literal["toy", "small", "base"] = "small"
    d_model: int | None = None
    n_heads: int | None = None
    n_encoder_layers: int | None = None
    n_decoder_layers: int | None = None
    d_ff: int | None = None
    max_len: int | None = None
    dropout: float = 0.1
    norm_position: NormPosition = "pre"
    activation: Literal["relu", "gelu"] = "relu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"

    def config(self, *, src_vocab_size: int, tgt_vocab_size: int) -> TransformerConfig:
        """The configuration for given vocabularies. Raises ConfigError when there is no such model."""
        chosen = {name: value for name, value in asdict(self).items() if value is not None}
        del chosen["preset"]
        return preset(
            self.preset,
            src_vocab_size=src_vocab_size,
            tgt_vocab_size=tgt_vocab_size,
            final_norm=self.norm_position == "pre",
            **chosen,
        )


@dataclass(frozen=True, kw_only=True)
class UpdatePlan:
    """How the model learns.

    Attributes:
        steps: updates.
        batch_tokens: the most positions of a batch, padding included, on its longer side.
        accumulate: batches an update, on each process; their gradients add up.
        schedule: the course of the learning rate after its rise.
        peak: the highest learning rate; "paper" has its own, by d_model and warmup.
        warmup: updates in which the rate rises.
        smoothing: of the labels (paper, section 5.4).
        clip: gradients that are longer are shortened to this length.
        precision: of the products of matrices; float16 on a GPU only.
        compile: let torch.compile make updates faster; the first ones take minutes.
        seed: of the first weights, the order of the batches, and dropout.
    """

    steps: int = 10_000
    batch_tokens: int = 2048
    accumulate: int = 1
    schedule: Schedule = "linear"
    peak: float = 1e-3
    warmup: int = 500
    smoothing: float = 0.1
    clip: float = 1.0
    precision: Precision = "float32"
    compile: bool = False
    seed: int = 1

    def rate(self, d_model: int) -> Callable[[int], float]:
        """The learning rate of a step, counted from 1."""
        if self.schedule == "paper":
            return partial(paper_rate, d_model=d_model, warmup_steps=self.warmup)
        if self.schedule == "inverse-root":
            return partial(inverse_root_rate, peak=self.peak, warmup_steps=self.warmup)
        falling = linear_rate if self.schedule == "linear" else cosine_rate
        return partial(falling, peak=self.peak, warmup_steps=self.warmup, total_steps=self.steps)


@dataclass(frozen=True, kw_only=True)
class CheckPlan:
    """What is looked at and kept on the way.

    Attributes:
        valid: pairs that are not trained on, a file or two like --pairs; several translations of a source
            stand on neighbouring lines. The weights with the best chrF on them become the model.
        validate_every: updates between two validations: loss, BLEU and chrF.
        patience: stop after so many validations without a better chrF, or a lower loss at the same chrF; 0
            never stops early.
        save_every: updates between two saved states.
        average: how many of the last saved weights are averaged at the end; 0 averages none.
        snapshots: keep the weights of so many moments of the training, the first and the last among them;
            each is twice as late as the one before. 0 keeps none.
        log_every: updates between two lines of metrics.jsonl.
        tensorboard: write TensorBoard's files as well (pip install tensorboard).
    """

    valid: tuple[Path, ...] = ()
    validate_every: int = 1000
    patience: int = 0
    save_every: int = 500
    average: int = 0
    snapshots: int = 0
    log_every: int = 50
    tensorboard: bool = False


@dataclass(frozen=True, kw_only=True)
class ResultPlan:
    """The finished model.

    Attributes:
        half: save the weights in float16, half as large.
        max_file_mib: no file of weights is larger than so many MiB; as many are written as are needed.
        license: under which the model may be used, for its card.
        source_note: where the data come from and whom to thank, for its card.
    """

    half: bool = False
    max_file_mib: int | None = None
    license: str = "not stated."
    source_note: str = "Where the sentence pairs come from was not stated."

    @property
    def dtype(self) -> torch.dtype:
        """Of the saved weights."""
        return torch.float16 if self.half else torch.float32


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """All choices, in groups."""

    data: DataPlan = field(default_factory=DataPlan)
    filters: Filters = field(default_factory=Filters)
    model: ModelPlan = field(default_factory=ModelPlan)
    updates: UpdatePlan = field(default_factory=UpdatePlan)
    checks: CheckPlan = field(default_factory=CheckPlan)
    result: ResultPlan = field(default_factory=ResultPlan)

    def check(self) -> None:
        """Raise PlanError for a choice that can't be met, ConfigError for a model that can't be."""
        self._check_files()
        room = self.model.config(src_vocab_size=1, tgt_vocab_size=1).max_len - 1  # one is for <eos>
        if self.data.longest > room:
            raise PlanError(
                f"--longest is {self.data.longest}, but the model has positions for {room} sub-words: make "
                "it smaller, or --max-len larger."
            )
        self._check_numbers()
        if self.checks.snapshots == 1:
            raise PlanError("--snapshots is 1: take 0 for none, or at least 2.")
        updates = self.updates
        if updates.warmup >= updates.steps and updates.schedule in ("linear", "cosine"):
            raise PlanError(
                f"--warmup {updates.warmup} leaves nothing of --steps {updates.steps} in which the learning "
                "rate can fall: make it smaller."
            )

    def _check_numbers(self) -> None:
        values = dict(self.choices())
        for name, least in _LEAST.items():
            if values[name] is not None and not values[name] >= least:
                raise PlanError(f"{option(name)} is {values[name]}: it must be at least {least}.")
        for name in ("updates.peak", "updates.clip"):
            if not values[name] > 0:
                raise PlanError(f"{option(name)} is {values[name]}: it must be above 0.")
        if math.isinf(self.updates.peak):
            raise PlanError("--peak is inf: it must be a number.")
        if self.updates.seed >= 2**63:
            raise PlanError(f"--seed is {self.updates.seed}: it must be from 0 to 2^63 - 1.")
        for name in ("updates.smoothing", "data.careless"):
            if not 0 <= values[name] < 1:
                raise PlanError(f"{option(name)} is {values[name]}: it is a share, from 0 to below 1.")

    def _check_files(self) -> None:
        if not self.data.pairs:
            raise PlanError("There is nothing to learn from: give sentence pairs with --pairs, or a --task.")
        given = [*(("--pairs", files) for files in self.data.pairs), ("--valid", self.checks.valid)]
        for name, files in given:
            if len(files) > 2:
                raise PlanError(f"{name} takes a file of pairs or two aligned files, not {len(files)}.")

    def choices(self) -> Iterator[tuple[str, Any]]:
        """Every choice by group and name: ("updates.seed", 1)."""
        for group in fields(self):
            for choice in fields(getattr(self, group.name)):
                yield f"{group.name}.{choice.name}", getattr(getattr(self, group.name), choice.name)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values, ready for JSON."""
        plain: dict[str, dict[str, Any]] = {group.name: {} for group in fields(self)}
        for name, value in self.choices():
            group, _, choice = name.partition(".")
            plain[group][choice] = _plain(value)
        return plain

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> TrainingPlan:
        """The inverse of `to_dict`. Raises PlanError for what another version of this program wrote."""
        try:
            data, checks = values["data"], values["checks"]
            return cls(
                data=DataPlan(
                    **data
                    | {"pairs": tuple(map(_paths, data["pairs"])), "languages": tuple(data["languages"])}
                ),
                filters=Filters(**values["filters"]),
                model=ModelPlan(**values["model"]),
                updates=UpdatePlan(**values["updates"]),
                checks=CheckPlan(**checks | {"valid": _paths(checks["valid"])}),
                result=ResultPlan(**values["result"]),
            )
        except (KeyError, TypeError) as error:
            raise PlanError(
                f"The saved choices can't be read ({error}): train anew in another folder."
            ) from error


def option(name: str) -> str:
    """How the command line spells a choice: "updates.batch_tokens" is --batch-tokens."""
    return "--" + name.partition(".")[2].replace("_", "-")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _paths(names: list[str]) -> tuple[Path, ...]:
    return tuple(map(Path, names))
