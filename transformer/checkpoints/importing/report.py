"""The report on an import: the source of each setting, the questions asked, which names matched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import shown
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from transformer.loaded import GenerationSettings, LoadedModel

SettingSource = Literal["config", "shapes", "answer", "assumed", "layout"]
"""The source of a value: the checkpoint's configuration, the tensors, the user's answer, a guess that nobody
confirmed, or the family, whose models all share it."""


LAYOUT = "layout"
"""Name of the question which of several families a checkpoint belongs to."""
LEFT_OUT = "left_out"
"""Name of the question whether to open a model without tensors that may belong to it."""
ADAPTER = "adapter"
"""Name of the question whether to merge an adapter into the model, and which."""


@dataclass(frozen=True)
class Setting:
    """A value in the configuration, and its source."""

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
        name: the key for its answer.
        text: the question.
        why: why the files don't say, and what depends on it.
        options: likely answers, the likeliest first.
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
    """A tensor that is missing, unexpected or of the wrong shape.

    Attributes:
        name: the tensor's, as in the files.
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
    """A tensor that is tied to another in the model but stored separately.

    Attributes:
        name: the unused copy's.
        to: the tensor that is used.
        equal: whether their values are equal; None before they are read.
    """

    name: str
    to: str
    equal: bool | None


@dataclass(frozen=True)
class KeyReport:
    """How the files' names and shapes fit the model."""

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
        family_label: the name that users see.
        config: the model's configuration.
        settings: each value with its source.
        questions: those asked, with the answers used.
        keys: how names and shapes fit.
        generation: the makers' decoding settings.
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
        """The unanswered questions, for which the likeliest answer was assumed."""
        return tuple(question for question in self.questions if not question.answered)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on tensors left out without the user's consent, which may change the output."""
        asked = (question for question in self.assumed if question.name in (LEFT_OUT, ADAPTER))
        untied = [tied for tied in self.keys.tied if tied.equal is False]
        return (
            *(f"{one.text} {one.why} Assumed: {one.name}={one.value}." for one in asked),
            *(
                f"{shown(tied.name)} was left out: the model shares it with {shown(tied.to)}, but the files "
                "hold two different ones."
                for tied in untied
            ),
        )


@dataclass(frozen=True)
class Imported:
    """An imported checkpoint; `loaded` is None if weights are missing or have the wrong shape."""

    loaded: LoadedModel | None
    report: ImportReport
    raw: RawCheckpoint
