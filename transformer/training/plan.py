"""Options of a training run, used on the command line and on the page, and saved with the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from transformer.checkpoints.folder import open_config
from transformer.data.filters import Filters
from transformer.model.config import PRESETS, NormPosition, TransformerConfig, preset
from transformer.training.optimization.schedule import cosine_rate, inverse_root_rate, linear_rate, paper_rate
from transformer.training.optimization.trainer import Precision

Schedule = Literal["linear", "cosine", "inverse-root", "paper"]
TaskName = Literal["toy-en-it", "copy", "reverse", "sort"]

WARMUP_SHARE = 0.05
"""Default warmup as a share of all updates."""


OLD_NOISE_NAME = "careless"
"""Name of `typing_noise` in plans and encoded corpora saved by earlier versions."""
OLD_LEAK_NAME = "mistake"
"""Name of `leak` in plans saved by earlier versions."""


class PlanError(ValueError):
    """Impossible options of a training run; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class DataPlan:
    """Training data: a built-in task, or files of sentence pairs.

    Attributes:
        task: a built-in task, which generates its own sentence pairs. Only --n-pairs applies to it; the other
            options below are for files.
        n_pairs: number of pairs to draw from the task; 0 draws new ones in every epoch.
        pairs: a TSV file of source, tab, target, or two aligned files with one sentence per line; plain or
            gzipped. May be repeated.
        languages: spaCy's codes of the source and target language.
        lowercase: convert all sentences to lower case.
        vocab_size: maximum number of sub-words per side; 0 keeps the vocabularies of --start-from's model,
            including languages and lower case.
        shared_vocabulary: one vocabulary of that size for both sides, and one embedding matrix (paper,
            section 3.4).
        longest: leave out pairs with more sub-words than this on either side.
        typing_noise: share of pairs that are added again with typing noise in the source.
    """

    task: TaskName | None = None
    n_pairs: int = 0
    pairs: tyro.conf.UseAppendAction[tuple[tuple[Path, ...], ...]] = ()
    languages: tuple[str, str] = ("en", "it")
    lowercase: bool = False
    vocab_size: int = 6000
    shared_vocabulary: bool = False
    longest: int = 100
    typing_noise: Annotated[float, tyro.conf.arg(aliases=("--careless",))] = 0.0


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """The model.

    Attributes:
        preset: sizes by name. --start-from's sizes override it, the options below override both.
        d_model: width of the residual stream.
        n_heads: attention heads per layer.
        n_encoder_layers: encoder layers.
        n_decoder_layers: decoder layers.
        d_ff: hidden width of the feed-forward.
        max_len: longest sentence accepted, in sub-words.
        dropout: probability of dropping a value in training.
        norm_position: "pre", which trains more easily and has a final norm, or "post", as in the paper.
        activation: activation of the feed-forward.
        positions: sinusoidal, as in the paper, or learned.
        start_from: start with the weights and sizes of this model, a shipped one or a trained folder. Its
            vocabularies may differ. A pre-norm model may get more layers, which add nothing at first. Empty
            for random weights.
        leak: a change that leaks the labels to the model, one of transformer.training.leaks; empty for none.
            Only for live runs.
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
    start_from: str = ""
    leak: Annotated[str, tyro.conf.Suppress] = ""

    def config(
        self, *, src_vocab_size: int, tgt_vocab_size: int, share_embeddings: bool = False
    ) -> TransformerConfig:
        """The configuration for the given vocabulary sizes.

        Raises:
            ConfigError: for an impossible model.
            CheckpointError: when the configuration of start_from can't be read.
        """
        chosen = {name: value for name, value in asdict(self).items() if value is not None}
        del chosen["preset"], chosen["leak"], chosen["start_from"]
        if self.start_from:
            other = open_config(self.start_from)
            chosen = {size: getattr(other, size) for size in PRESETS[self.preset]} | chosen
        return preset(
            self.preset,
            src_vocab_size=src_vocab_size,
            tgt_vocab_size=tgt_vocab_size,
            final_norm=self.norm_position not in ("post", "none"),
            share_embeddings=share_embeddings,
            **chosen,
        )


@dataclass(frozen=True, kw_only=True)
class UpdatePlan:
    """The updates.

    Attributes:
        steps: number of updates; 0 for one epoch.
        batch_tokens: maximum positions per batch, padding included, on the longer side.
        accumulate: batches per update and process; their gradients are added.
        schedule: learning rate schedule after warmup.
        peak: highest learning rate; "paper" computes its own from d_model and warmup.
        warmup: updates during which the rate rises; 0 for a twentieth of all.
        smoothing: label smoothing (paper, section 5.4).
        clip: gradients are clipped to this norm.
        precision: precision of matrix products; float16 on GPUs only.
        compile: use torch.compile; faster, but the first updates take minutes.
        seed: seed of initial weights, batch order and dropout.
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

    def settled(self, n_batches: int) -> UpdatePlan:
        """Fill in steps and warmup, given the batches per epoch of one process."""
        steps = self.steps or max(1, -(-n_batches // self.accumulate))
        return replace(self, steps=steps, warmup=self.warmup or max(1, round(WARMUP_SHARE * steps)))

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
    """Validation and saving.

    Attributes:
        valid: validation pairs, one or two files as for --pairs; further references are on adjacent lines.
            The weights with the best chrF on them become the model.
        validate_every: updates between validations (loss, BLEU, chrF).
        patience: stop after this many validations without a better chrF, or a lower loss at equal chrF; 0
            never stops early.
        save_every: updates between saved states.
        average: average this many of the last saved weights at the end; 0 for none.
        snapshots: save the weights at this many steps, including the first and the last; each step is twice
            the previous one. 0 for none.
        log_every: updates between lines of metrics.jsonl.
        tensorboard: also write TensorBoard files (pip install tensorboard).
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
        half: save the weights in float16.
        max_file_mib: largest weights file, in MiB; larger models are split into several files.
        license: the model's license, for its card.
        source_note: note on the origin of the data, for the card.
    """

    half: bool = False
    max_file_mib: int | None = None
    license: str = "not stated."
    source_note: str = "Where the sentence pairs come from was not stated."

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the saved weights."""
        return torch.float16 if self.half else torch.float32


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """All options, in groups."""

    data: DataPlan = field(default_factory=DataPlan)
    filters: Filters = field(default_factory=Filters)
    model: ModelPlan = field(default_factory=ModelPlan)
    updates: UpdatePlan = field(default_factory=UpdatePlan)
    checks: CheckPlan = field(default_factory=CheckPlan)
    result: ResultPlan = field(default_factory=ResultPlan)

    def choices(self) -> Iterator[tuple[str, Any]]:
        """All options as (group and name, value), such as ("updates.seed", 1)."""
        for group in fields(self):
            for choice in fields(getattr(self, group.name)):
                yield f"{group.name}.{choice.name}", getattr(getattr(self, group.name), choice.name)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Convert to plain values for JSON."""
        plain: dict[str, dict[str, Any]] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> TrainingPlan:
        """The inverse of `to_dict`; raises PlanError for a plan of an incompatible version."""
        try:
            data, model, checks = dict(values["data"]), dict(values["model"]), values["checks"]
            if OLD_NOISE_NAME in data:
                data["typing_noise"] = data.pop(OLD_NOISE_NAME)
            if OLD_LEAK_NAME in model:
                model["leak"] = model.pop(OLD_LEAK_NAME)
            return cls(
                data=DataPlan(
                    **data
                    | {"pairs": tuple(map(_paths, data["pairs"])), "languages": tuple(data["languages"])}
                ),
                filters=Filters(**values["filters"]),
                model=ModelPlan(**model),
                updates=UpdatePlan(**values["updates"]),
                checks=CheckPlan(**checks | {"valid": _paths(checks["valid"])}),
                result=ResultPlan(**values["result"]),
            )
        except (KeyError, TypeError) as error:
            raise PlanError(
                f"The saved options can't be read ({error}): start again in another folder."
            ) from error


def _paths(names: list[str]) -> tuple[Path, ...]:
    return tuple(map(Path, names))
