"""The report on an import: the source of each setting, the questions, the matched names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from transformer.loaded import GenerationSettings, LoadedModel

SettingSource = Literal["config", "shapes", "answer", "assumed", "layout"]
"""Source of a value: the checkpoint's configuration, the tensors, the user's answer, an unconfirmed guess, or
the family, whose models all have it."""


LAYOUT = "layout"
"""Name of the question which of several families it is; other questions are that family's."""


@dataclass(frozen=True)
class Setting:
    """A value of the configuration and its source."""

    name: str
    value: Any
    source: SettingSource
    why: str


@dataclass(frozen=True)
class Option:
    """One answer that a question offers."""

    value: Any
    label: str


@dataclass(frozen=True)
class Question:
    """A question that the files don't answer.

    Attributes:
        name: the name in `answers`.
        text: the question.
        why: why it can't be read from the files, and what depends on it.
        options: likely answers, the most likely first.
        value: the answer that was used.
        answered: True if the user gave it; otherwise the likeliest was assumed.
    """

    name: str
    text: str
    why: str
    options: tuple[Option, ...]
    value: Any
    answered: bool


@dataclass(frozen=True)
class KeyProblem:
    """A tensor that is missing, unexpected or of another shape, by the files' names.

    Attributes:
        name: the tensor's name.
        detail: what is wrong with it.
        nearest: the most similar names, of the model for a tensor, of the files for a weight.
    """

    name: str
    detail: str
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnusedKey:
    """A tensor that the model does not need, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class TiedKey:
    """A tensor that the model ties to another, but that is stored separately.

    Attributes:
        name: the copy's, which is not used.
        to: the tensor that is used.
        equal: True if both have the same numbers; None before they are read.
    """

    name: str
    to: str
    equal: bool | None


@dataclass(frozen=True)
class KeyReport:
    """How the files' names and shapes match the model."""

    missing: tuple[KeyProblem, ...] = ()
    unexpected: tuple[KeyProblem, ...] = ()
    misshaped: tuple[KeyProblem, ...] = ()
    unused: tuple[UnusedKey, ...] = ()
    tied: tuple[TiedKey, ...] = ()

    @property
    def fits(self) -> bool:
        """True if every weight of the model is filled."""
        return not self.missing and not self.misshaped


@dataclass(frozen=True)
class ImportReport:
    """Everything about the import.

    Attributes:
        family: `Family.name`.
        family_label: its name for users.
        config: the model's configuration.
        settings: the source of each value.
        questions: the questions asked, with the answers used.
        keys: how names and shapes match.
        generation: the makers' generation settings.
        notes: sentences for the user.
    """

    family: str
    family_label: str
    config: TransformerConfig
    settings: tuple[Setting, ...]
    questions: tuple[Question, ...]
    generation: GenerationSettings
    keys: KeyReport = field(default_factory=KeyReport)
    notes: tuple[str, ...] = ()

    @property
    def assumed(self) -> tuple[Question, ...]:
        """The unanswered questions, for which the likely answer was assumed."""
        return tuple(question for question in self.questions if not question.answered)


@dataclass(frozen=True)
class Imported:
    """An imported checkpoint; `loaded` is None if weights are missing or of another shape."""

    loaded: LoadedModel | None
    report: ImportReport
    raw: RawCheckpoint
