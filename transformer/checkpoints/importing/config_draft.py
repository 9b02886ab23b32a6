"""Fills in a TransformerConfig: a source for each value, and a question where the files don't say."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.report import (
    LAYOUT,
    Option,
    Question,
    Setting,
    SettingSource,
)
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown
from transformer.model.config import ConfigError, TransformerConfig

_FIELDS = frozenset(field.name for field in fields(TransformerConfig))
LARGEST_SIZE = 2**28
"""Largest size in a model; finding the divisors of a larger one could take forever."""
TYPICAL_D_HEAD = 64
"""Head width in most published models (paper, section 3.2.2)."""
_USUAL_HEADS = (4, 8, 12, 16)

HINTS: Mapping[str, tuple[str, ...]] = {
    LAYOUT: ("model_type",),
    "n_heads": (
        "nhead",
        "n_head",
        "n_heads",
        "num_heads",
        "heads",
        "num_attention_heads",
        "attention_heads",
        "h",
    ),
    "norm_position": ("norm_first", "pre_norm", "prenorm", "normalize_before"),
    "activation": ("activation", "activation_function", "activation_fn"),
    "norm_eps": ("layer_norm_eps", "layer_norm_epsilon", "norm_eps"),
    "pad_id": ("pad_id", "pad_idx", "padding_idx", "pad_token_id", "src_pad_idx"),
}
"""Question -> names under which training programs save its answer."""

_NORM_FIRST = {True: "pre", False: "post"}
_DEEPEST = 4
_YES_OR_NO = re.compile(r"(yes|no)\b")


class ConfigDraft:
    """The values of a configuration while it is being filled in.

    Attributes:
        raw: the checkpoint, its tensors under the family's names.
        config: the checkpoint's config.json, or what a family found instead; None without one.
        answers: the user's, by question.
        settings: the values filled in, by name.
        questions: those asked, by name.
        notes: sentences for the report.
    """

    def __init__(self, raw: RawCheckpoint, answers: Mapping[str, Any]) -> None:
        self.raw = raw
        self.config = ForeignConfig.of(raw)
        self.answers = answers
        self.settings: dict[str, Setting] = {}
        self.questions: dict[str, Question] = {}
        self.notes: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.settings[name].value

    def put(self, name: str, value: Any, source: SettingSource, why: str) -> Any:
        """Fill in a value."""
        self.settings[name] = Setting(name, value, source, why)
        return value

    def configured(self, name: str, value: Any, attribute: str) -> Any:
        """Fill in a value from config.json; `attribute` is its name there, with more words if needed."""
        source = "config.json" if self.config is None else self.config.source
        return self.put(name, value, "config", f"{source}: {attribute}")

    def layout(self, why: str, **values: Any) -> None:
        """Fill in values that are the same in every model of a family."""
        for name, value in values.items():
            self.put(name, value, "layout", why)

    def present(self, name: str, tensor: str) -> bool:
        """Fill in whether the files contain a tensor."""
        found = tensor in self.raw.tensors
        return bool(self.put(name, found, "shapes", f"whether there is {tensor}"))

    def note(self, sentence: str) -> None:
        """Add a sentence to the report."""
        self.notes.append(sentence)

    def size(self, name: str, key: str, tensor: str, axis: int, default: int | None = None) -> int:
        """Fill in a size from config.json, or else from a tensor's axis.

        Raises:
            CheckpointError: when neither is there, or the size is out of range.
        """
        if self.config is not None and (key in self.config or default is not None):
            told = checked_size(name, self.config.integer(key, default))
            return self.configured(name, told, key)
        length = checked_size(name, self.length(tensor, axis))
        return self.put(name, length, "shapes", f"axis {axis} of {self.stored_name(tensor)}")

    def heads(self, key: str) -> int:
        """Fill in n_heads from config.json, or else from the answer to a question. Needs d_model."""
        if self.config is not None:
            return self.configured("n_heads", self.config.integer(key), key)
        return self.ask_heads()

    def ask_heads(self, usual: int = 0, width: int = 0) -> int:
        """Ask for n_heads, with the usual number first unless that makes the heads too wide.

        Args:
            usual: the family's usual number of heads.
            width: of all heads together; 0 means d_model. Its divisors are offered.
        """
        width = width or self["d_model"]
        likely = likely_heads(width)
        if usual in likely and width <= TYPICAL_D_HEAD * usual:
            likely.sort(key=lambda n: n != usual)
        return self.ask(
            "n_heads",
            "How many attention heads does each layer have?",
            "All heads of a layer are stored as one matrix: another number divides it into other heads, "
            "and every attention picture would be wrong.",
            {n: f"{n} (each {width // n} wide)" for n in likely},
        )

    def pad_id(self, usual: int = -1) -> int:
        """Fill in pad_id: config.json's pad_token_id, or `usual` if it is missing; -1 for null.

        Args:
            usual: the default in transformers' configuration; -1 for no padding.

        A padding token that also begins or ends texts counts as a word, unless it is `usual`: old BERT files
        give 0 for all three.
        """
        pad = None if self.config is None else self.config.get("pad_token_id")
        if self.config is None:
            return self.put("pad_id", usual, "assumed", "the usual one of this family")
        if self.config.leaves_out("pad_token_id"):
            return self.put("pad_id", usual, "config", "config.json leaves it out: the usual one")
        if pad is None:
            return self.put("pad_id", -1, "config", "config.json names no pad_token_id")
        if pad != usual and pad in (self.config.get("bos_token_id"), self.config.get("eos_token_id")):
            return self.configured("pad_id", -1, "pad_token_id also begins or ends texts")
        return self.configured("pad_id", self.config.integer("pad_token_id"), "pad_token_id")

    def ask(self, name: str, text: str, why: str, labels: Mapping[Any, str], *, likely: object = None) -> Any:
        """Fill in the answer to a question, or the likeliest of `labels` if there is none yet.

        The likeliest is `likely`, or else the first.

        Raises:
            CheckpointError: for an invalid answer.
        """
        options = tuple(Option(value, label) for value, label in labels.items())
        if likely is not None:
            options = _with_first(likely, options)
        found = hint(name, self.raw.extras)
        if found is not None and isinstance(found[1], float) and isinstance(options[0].value, float):
            others = [option for option in options if option.value != found[1]]
            options = (Option(found[1], f"{found[1]:g}"), *others)
        if found is not None and any(option.value == found[1] for option in options):
            options = _with_first(found[1], options)
            why = f"{why} A value saved with the weights, {shown(found[0])}, makes the first answer likely."
        answered = name in self.answers
        value = self._answer(name, self.answers[name], options) if answered else options[0].value
        self.questions[name] = Question(name, text, why, options, value, answered)
        return self.put(name, value, "answer" if answered else "assumed", text)

    def length(self, tensor: str, axis: int) -> int:
        """The length of a tensor's axis.

        Raises:
            CheckpointError: when the tensor is missing or has no such axis.
        """
        stored = self.raw.tensors.get(tensor)
        if stored is None or axis >= len(stored.shape):
            raise CheckpointError(
                f"The sizes are unknown: there is no tensor {tensor} with {axis + 1} axes. Put the model's "
                "config.json into the folder of its weights, or export the whole model."
            )
        return stored.shape[axis]

    def stored_name(self, tensor: str) -> str:
        """The tensor's name in the files."""
        return self.raw.tensors[tensor].name

    def finish(self) -> TransformerConfig:
        """The finished configuration.

        Raises:
            CheckpointError: for an invalid model, and for answers to questions that were not asked.
        """
        unasked = sorted(set(self.answers) - set(self.questions))
        if unasked:
            asked = ", ".join(self.questions) or "none: the files say everything"
            raise CheckpointError(
                f"There is no question {shown(unasked[0])} about this model; there are: {asked}."
            )
        values = {name: setting.value for name, setting in self.settings.items() if name in _FIELDS}
        if self.settings.keys() - _FIELDS - self.questions.keys():
            raise AssertionError(f"No part of a configuration: {self.settings.keys() - _FIELDS}")
        try:
            return TransformerConfig.from_dict(values)
        except ConfigError as error:
            raise CheckpointError(f"The checkpoint describes a model that can't be built: {error}") from error

    @staticmethod
    def _answer(name: str, given: Any, options: tuple[Option, ...]) -> Any:
        """Match an answer to an option; if the options are numbers, any number is accepted."""
        offered = ", ".join(str(option.value) for option in options)
        try:
            text = str(given).strip().lower()
        except ValueError as error:  # Python refuses to print integers of several thousand digits
            raise CheckpointError(
                f"The answer to {name} is too large a number: choose one of {offered}."
            ) from error
        for option in options:
            if text in _typed_as(option):
                return option.value
        kind = type(options[0].value)
        if kind in (int, float):
            try:
                value = kind(given)
            except (TypeError, ValueError, OverflowError):
                value = math.nan
            if abs(value) <= sys.float_info.max:
                return value
        raise CheckpointError(f"{shown(given)} is not an answer to {name}: choose one of {offered}.")


def _with_first(value: object, options: tuple[Option, ...]) -> tuple[Option, ...]:
    return tuple(sorted(options, key=lambda option: option.value != value))


def _typed_as(option: Option) -> tuple[str, ...]:
    """What a user may type for an option: its value, or the yes or no that its label begins with."""
    begins = _YES_OR_NO.match(option.label)
    return str(option.value).lower(), *(begins.groups() if begins else ())


def checked_size(name: str, size: int) -> int:
    """The size, unless no model can have it, which raises CheckpointError."""
    if not 1 <= size <= LARGEST_SIZE:
        raise CheckpointError(
            f"The checkpoint describes a model with {name} {shown(size)}: at least 1 is needed, and at most "
            f"{LARGEST_SIZE:,} is opened."
        )
    return size


def likely_heads(d_model: int, fits: Callable[[int], bool] = lambda d_head: True) -> list[int]:
    """Numbers of heads that divide d_model evenly: at most 16, the likeliest first.

    At published sizes heads are 64 wide: 8 heads for 512, 12 for 768, 25 for 1600. Other widths come from
    lessons and experiments, mostly with a common number of heads: 4 for 44 or 128.

    Args:
        d_model: the width to divide.
        fits: whether a head width is allowed.
    """
    divisors = [n for n in range(1, math.isqrt(d_model) + 1) if d_model % n == 0]
    divisors += [d_model // n for n in divisors if n * n != d_model]
    usual = max(d_model / TYPICAL_D_HEAD, _USUAL_HEADS[0])

    def unlikelihood(n: int) -> tuple[bool, bool, float, int]:
        is_known = n in _USUAL_HEADS and d_model // n <= 2 * TYPICAL_D_HEAD
        return n != usual, not is_known, abs(math.log(n / usual)), n

    return sorted((n for n in divisors if fits(d_model // n)), key=unlikelihood)[:16]


def hint(question: str, extras: Mapping[str, Any]) -> tuple[str, Any] | None:
    """A saved value that looks like the question's answer, as (name, answer); None if there is none."""
    for name, value in _entries(extras, _DEEPEST):
        if name.lower() in HINTS.get(question, ()):
            if isinstance(value, bool):
                if question == "norm_position":
                    return name, _NORM_FIRST[value]
            elif question != "norm_position" and isinstance(value, int | float | str):
                return name, value
    return None


def _entries(extras: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in extras.items():
        if isinstance(value, Mapping) and depth:
            yield from _entries(value, depth - 1)
        else:
            yield str(name), value
