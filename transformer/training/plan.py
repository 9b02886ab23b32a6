"""All choices of a training run, as they are asked for on the command line or on a page, and kept with it."""

from __future__ import annotations

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
"""Of all updates, where nothing else is said."""


OLD_NOISE_NAME = "careless"
"""What earlier versions called the typing noise, in the plans and the encoded corpora that they kept."""
OLD_LEAK_NAME = "mistake"
"""The name of `leak` in plans saved by earlier versions."""


class PlanError(ValueError):
    """Choices that no training run can be made of; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class DataPlan:
    """What is learnt from: a built-in task, or files of sentence pairs.

    Attributes:
        task: a built-in task, which brings its own sentence pairs. The next two options are for it; the
            others, from --pairs on, are for files.
        n_pairs: how many pairs of the task to draw and learn from; 0 draws others in every round.
        pairs: a TSV file of source, tab, target, or two aligned files with one sentence per line; plain or
            gzipped. Given several times, all of them are learnt.
        languages: codes of the two, as spaCy has them.
        lowercase: bring all sentences into lower case.
        vocab_size: sub-words of each side, at most; 0 keeps the vocabularies of --start-from's model, with
            its languages and its lower case.
        shared_vocabulary: one vocabulary of that size for both sides, learnt of both, and one matrix of
            embeddings (paper, section 3.4).
        longest: leave out pairs with more sub-words on a side.
        typing_noise: the share of pairs that come once more with the source as typed in a hurry.
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
        preset: sizes by name; those of --start-from's model replace them, and those below both.
        d_model: width of the residual stream.
        n_heads: attention heads per layer.
        n_encoder_layers: of the encoder.
        n_decoder_layers: of the decoder.
        d_ff: hidden width of the feed-forward.
        max_len: the longest sentence, in sub-words, that it will accept.
        dropout: the share of numbers that are set to 0 while the model is trained.
        norm_position: "pre", which trains more easily and gets a final norm, or "post", the paper's.
        activation: of the feed-forward.
        positions: sinusoidal, the paper's, or learned.
        start_from: begin with the weights of this model, a shipped one or a folder that was trained, and with
            its sizes. Its vocabularies may differ. A pre-norm model may be made deeper: the layers beyond
            those of the other one add nothing at first. Empty begins with random weights.
        leak: the name of a change that leaks the labels to the model (transformer.training.leaks); empty for
            none. Only live runs are offered it.
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
        """The configuration for given vocabularies.

        Raises:
            ConfigError: when there is no such model.
            CheckpointError: when the configuration of the one that it begins with can't be read.
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
            final_norm=self.norm_position != "post",
            share_embeddings=share_embeddings,
            **chosen,
        )


@dataclass(frozen=True, kw_only=True)
class UpdatePlan:
    """How the model learns.

    Attributes:
        steps: updates; 0 is one round through the data.
        batch_tokens: the most positions of a batch, padding included, on its longer side.
        accumulate: batches per update, on each process; their gradients add up.
        schedule: the course of the learning rate after its rise.
        peak: the highest learning rate; "paper" has its own, by d_model and warmup.
        warmup: updates in which the rate rises; 0 is a twentieth of them all.
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

    def settled(self, n_batches: int) -> UpdatePlan:
        """Fill in the steps and the warmup that depend on a process's batches in a round through the data."""
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
    """What is looked at and kept on the way.

    Attributes:
        valid: pairs that are not trained on, a file or two like --pairs; several translations of a source
            stand on neighbouring lines. The weights with the best chrF on them become the model.
        validate_every: updates between two validations: loss, BLEU and chrF.
        patience: stop after so many validations without a better chrF, or a lower loss at the same chrF; 0
            never stops early.
        save_every: updates between two saved states.
        average: how many of the last saved weights are averaged at the end; 0 averages none.
        snapshots: keep the weights of so many moments, the first and the last among them; each is twice as
            late as the one before. 0 keeps none.
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

    def choices(self) -> Iterator[tuple[str, Any]]:
        """Every choice by group and name: ("updates.seed", 1)."""
        for group in fields(self):
            for choice in fields(getattr(self, group.name)):
                yield f"{group.name}.{choice.name}", getattr(getattr(self, group.name), choice.name)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values, ready for JSON."""
        plain: dict[str, dict[str, Any]] = _plain(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> TrainingPlan:
        """The inverse of `to_dict`. Raises PlanError for what another version of this program wrote."""
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
                f"The saved choices can't be read ({error}): train in another folder, from the start."
            ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _paths(names: list[str]) -> tuple[Path, ...]:
    return tuple(map(Path, names))
