"""What is said about an import: where each setting came from, what was asked, which names fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from transformer.loaded import GenerationSettings, LoadedModel

SettingSource = Literal["config", "shapes", "answer", "assumed", "layout"]
"""A value is told by the checkpoint's configuration, seen in the tensors, answered by the user, a
guess that nobody confirmed, or the same in every model of the family."""


LAYOUT = "layout"
"""Name of the question which of several families a checkpoint is of; the others are that family's."""


@dataclass(frozen=True)
class Setting:
    """One value of the configuration and where it came from."""

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
    """What the files don't tell.

    Attributes:
        name: under which an answer is given.
        text: the question as a user reads it.
        why: why it can't be read from the files, and what depends on it.
        options: likely answers, the most likely first.
        value: what was taken.
        answered: whether the user said so (else the most likely answer was assumed).
    """

    name: str
    text: str
    why: str
    options: tuple[Option, ...]
    value: Any
    answered: bool


@dataclass(frozen=True)
class KeyProblem:
    """A tensor that is missing, not expected, or of another shape; names are those of the files.

    Attributes:
        name: of the tensor.
        detail: what is wrong with it, in words.
        nearest: names on the other side that look most like it.
    """

    name: str
    detail: str
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnusedKey:
    """A tensor that the model does without, and why that changes nothing."""

    name: str
    reason: str


@dataclass(frozen=True)
class TiedKey:
    """A tensor stored once more though the model ties it to another.

    Attributes:
        name: of the copy, which is not used.
        to: whose numbers are used.
        equal: whether both hold the same numbers; None before they were read.
    """

    name: str
    to: str
    equal: bool | None


@dataclass(frozen=True)
class KeyReport:
    """How the names and shapes of the files fit the model."""

    missing: tuple[KeyProblem, ...] = ()
    unexpected: tuple[KeyProblem, ...] = ()
    misshaped: tuple[KeyProblem, ...] = ()
    unused: tuple[UnusedKey, ...] = ()
    tied: tuple[TiedKey, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether every weight of the model has its numbers."""
        return not self.missing and not self.misshaped


@dataclass(frozen=True)
class ImportReport:
    """Everything about the way from the files to the model.

    Attributes:
        family: name of the layout, as `Family.name`.
        family_label: for people.
        config: what the model is made of.
        settings: where each of its values came from.
        questions: all that were asked, with the values taken.
        keys: how names and shapes fitted.
        generation: how the model's makers decode with it.
        notes: whole sentences on what a user should know.
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
        """The questions that nobody answered: the likely answer of each was taken."""
        return tuple(question for question in self.questions if not question.answered)


@dataclass(frozen=True)
class Imported:
    """A checkpoint as we see it; `loaded` is None where weights are missing or of another shape."""

    loaded: LoadedModel | None
    report: ImportReport
    raw: RawCheckpoint
