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
        number: number of the issue or pull request; empty if there is none.
        url: address of the page.
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
        loaded: the broken model, frozen; it shares its parameters with the sound one. None if the model
            is sound but its input, or the reading of its numbers, is wrong.
        run: the same sentence with the same target (teacher forcing), to be compared step by step.
        sound: the run to compare it with: the case's own, or one with the same padding.
        free: what the broken model generates by itself; None if it doesn't generate.
        reading: the numbers, for a mistake in reading them.
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
        sound, broken: its value for each model.
        limit: a trained model is on one side of it, the model with the mistake on the other. NaN counts as
            beyond it.
        unit: unit of the number; empty if it has none.
    """

    what: str
    sound: float
    broken: float
    limit: float
    unit: str = ""

    @property
    def shows(self) -> bool:
        """True if the limit separates the two. In a sentence that is too short for the mistake it can't."""
        return (self.broken > self.limit) != (self.sound > self.limit) or self.broken != self.broken


@dataclass(frozen=True)
class Mistake:
    """A mistake that published implementations of the Transformer make.

    Attributes:
        name: lower-case letters and dashes.
        title: a noun phrase.
        group: the part of the model that it affects.
        level: how hard it is to find: 1 shows at once, 2 needs a look at the right picture, 3 is subtle.
        what: what the code does and how that affects the model; plain text.
        wrong, right: typical Python code with the mistake, and without it.
        seen: where it was published.
        find: Python code that checks your own code for it.
        broken: applies the mistake to a case that it fits.
        symptom: measures the number that reveals it.
        unfit: why a model has nothing to break, in a sentence; empty if it has.
        leak: what to train with to see the mistake in the learning curves; None if training shows nothing
            more.
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
