"""What was asked, the answer, and everything that determines its numbers, as a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np
import torch

from transformer.analysis.attribution.pictures import PICTURES
from transformer.analysis.interventions.heads import ABLATIONS
from transformer.analysis.interventions.knock_outs import KNOCK_OUTS
from transformer.analysis.interventions.patching import DIRECTIONS
from transformer.analysis.interventions.questions import NEXT_BEST
from transformer.files import headlight_version

Part = Literal["heads", "direct", "words", "pictures", "sums", "patches"]
"""The parts of a run that an answer has a number for.

"heads" and "words": what the answer loses without each; "direct": what it loses through the residual stream
alone; "pictures": a picture's score of each word; "sums": the terms of a logit; "patches": the cells of a
grid.
"""
PARTS: tuple[Part, ...] = get_args(Part)
HOW: Mapping[Part, tuple[str, ...]] = {
    "heads": ABLATIONS,
    "direct": ABLATIONS,
    "words": KNOCK_OUTS,
    "pictures": PICTURES,
    "sums": ("terms",),
    "patches": DIRECTIONS,
}
"""The ways to compute the numbers of each part, the usual one first."""


class ReceiptError(ValueError):
    """A receipt can't be read, or its numbers can't be computed again."""


@dataclass(frozen=True)
class Inquiry:
    """What is asked of a model, and how the answer is computed.

    Attributes:
        parts: what the answer has numbers for.
        how: one of `HOW`.
        text: the source or prompt; empty if there are pairs.
        target: the typed target; empty if the model generates it.
        word: the output word asked about: its text, or its index, which always names one; empty for
            `last_word`.
        rival: a word to compare with, `NEXT_BEST`, or empty for the word's own log-probability; for patches,
            empty for the word that the other run prefers.
        pairs: instead of a text: sources and targets, over which the effect on the whole output is averaged;
            a blank target is generated.
        reference: sentences from which "mean" and "resample" take outputs of heads.
        other: for patches: the other sentence.
        place: for patches: what is patched, as `place_named` reads it.
        baseline: for integrated gradients: where they begin.
        seed: seed of all draws.
    """

    parts: Part
    how: str
    text: str = ""
    target: str = ""
    word: str | int = ""
    rival: str = NEXT_BEST
    pairs: tuple[tuple[str, str], ...] = ()
    reference: tuple[str, ...] = ()
    other: str = ""
    place: str = ""
    baseline: str = "unknown"
    seed: int = 0


def this_version() -> str:
    """The versions of Headlight and torch, as in a receipt."""
    return f"Headlight {headlight_version()} with torch {torch.__version__}"


@dataclass(frozen=True)
class Receipt:
    """An answer, and everything that determines it.

    Attributes:
        inquiry: what was asked.
        model: the model's name.
        weights: SHA-256 of its parameters.
        metric: what the numbers are, with their unit.
        output: the output that was asked about.
        baseline: the answer of the run itself; over several sentences, the mean.
        names: the parts, in the model's order.
        effects: the number of each part.
        intervals: the ends of each effect's 95 % bootstrap interval over sentences; empty for one sentence.
        n: number of sentences.
        draws: runs per part, of which an effect is the mean.
        code: where the effects were computed.
        version: the versions of Headlight and torch that computed them; empty if unknown.
    """

    inquiry: Inquiry
    model: str
    weights: str
    metric: str
    output: str
    baseline: float
    names: tuple[str, ...]
    effects: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    n: int
    draws: int
    code: str
    version: str = field(default_factory=this_version)

    def to_json(self) -> str:
        """The receipt as JSON text that can be encoded: half a character, which may be typed, is escaped."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"
        return text.encode(errors="backslashreplace").decode()

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read a receipt.

        Raises:
            ReceiptError: the text is not a receipt, or that of a version that asked otherwise.
        """
        version = ""
        try:
            values: dict[str, Any] = {"version": version} | json.loads(text)
            version, inquiry = str(values["version"]), values["inquiry"]
            pairs = tuple((str(source), str(target)) for source, target in inquiry["pairs"])
            own = {one.name: values[one.name] for one in fields(cls)}
            asked = Inquiry(**inquiry | {"pairs": pairs, "reference": tuple(map(str, inquiry["reference"]))})
            return cls(
                **own
                | {
                    "inquiry": asked,
                    "names": tuple(map(str, own["names"])),
                    "effects": tuple(map(float, own["effects"])),
                    "intervals": tuple((float(low), float(high)) for low, high in own["intervals"]),
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            reason = "This is not a receipt: give a file that Headlight saved as the receipt of its numbers."
            if version not in ("", this_version()):
                reason = f"This receipt was made by {version}, and {this_version()} can't read it."
            raise ReceiptError(reason) from error

    def difference(self, other: Receipt) -> float:
        """The largest difference of any number from another receipt's; infinite if the parts differ."""
        if self.names != other.names:
            return math.inf
        ours, theirs = np.array(self.effects), np.array(other.effects)
        return float(np.abs(ours - theirs).max(initial=0.0))

    def largest(self, most: int) -> list[tuple[str, float, tuple[float, float] | None]]:
        """The parts with the largest numbers, the largest first: name, number, interval if there is one."""
        order = np.argsort(-np.array(self.effects), kind="stable")[:most]
        ends = self.intervals or [None] * len(self.effects)
        return [(self.names[index], self.effects[index], ends[index]) for index in order]
