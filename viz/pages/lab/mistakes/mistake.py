"""The parts of a mistake: its code, where it was published, its effect, and the number that reveals it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.run import Run
from transformer.training.leaks import Leak

Group = Literal["attention", "masks", "positions and embeddings", "norms and dropout", "decoder", "reading"]
GROUPS: tuple[Group, ...] = get_args(Group)
Level = Literal[1, 2, 3]


@dataclass(frozen=True)
class Seen:
    """Where a mistake was published.

    Attributes:
        project: owner and name of a repository, or the title of a text.
        number: of the issue or pull request; empty where there is none.
        url: of the page.
        said: the report in our own words; empty if only the place is known.
    """

    project: str
    number: str
    url: str
    said: str = ""


@dataclass(frozen=True)
class Case:
    """The sound model and its run of the user's sentence."""

    loaded: LoadedModel
    run: Run


@dataclass(frozen=True)
class Picture:
    """An attention as a figure shows it.

    Attributes:
        weights: (H, Q, K), with H = 1 for averaged heads.
        rows, columns: the Q and K labels.
        title: such as "Cross-attention, layer 1, mean of 4 heads".
    """

    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class Reading:
    """Correct numbers, labelled correctly and incorrectly."""

    sound: Picture
    broken: Picture


@dataclass(frozen=True)
class Broken:
    """The effect of a mistake on a case.

    Attributes:
        loaded: the broken model, frozen; it shares its parameters with the sound one. None where the model is
            sound, and what it is fed or how it is read is wrong.
        run: the same sentence with the same target (teacher forcing), to be compared step by step.
        sound: the run to compare it with: the case's own, or one with the same padding.
        free: the broken model's own output; None if it does not generate.
        reading: for a mistake in reading the numbers.
    """

    loaded: LoadedModel | None
    run: Run
    sound: Run
    free: Run | None = None
    reading: Reading | None = None


@dataclass(frozen=True)
class Symptom:
    """The number that reveals a mistake, for the sound and the broken model.

    Attributes:
        what: the name of the number.
        sound, broken: the two.
        limit: separates trained models from the same with the mistake. NaN counts as beyond it.
        unit: the number's unit; empty for a plain number.
    """

    what: str
    sound: float
    broken: float
    limit: float
    unit: str = ""

    @property
    def shows(self) -> bool:
        """True if the limit separates the two; it can't in a sentence too short for the mistake."""
        return (self.broken > self.limit) != (self.sound > self.limit) or self.broken != self.broken


@dataclass(frozen=True)
class Mistake:
    """A mistake that published implementations of the Transformer make.

    Attributes:
        name: lowercase letters and dashes.
        title: a noun phrase.
        group: the part of the model that it is in.
        level: how hard it is to find: 1 is obvious, 2 is visible in the right picture, 3 is subtle.
        what: what the code does, and its effect on the model; plain text.
        wrong, right: lines of Python, as usually written.
        seen: where it was published.
        find: lines of Python that check the reader's code for it.
        broken: makes the mistake on a case that it applies to.
        symptom: the number that reveals it.
        unfit: why the mistake does not apply to a model, in a sentence; empty if it does.
        leak: the leak to train with, so that the learning curves show the mistake; None if they don't.
    """

    name: str
    title: str
    group: Group
    level: Level
    what: str
    wrong: str
    right: str
    seen: Sequence[Seen]
    find: str
    broken: Callable[[Case], Broken]
    symptom: Callable[[Case, Broken], Symptom]
    unfit: Callable[[TransformerConfig], str]
    leak: Leak | None = None
