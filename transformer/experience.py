"""Statistics of a model's training data: translation lengths, adjacent pieces in words, calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.errors import CheckpointError

EXPERIENCE = "experience.json"
"""The file next to a model's weights."""
BEYOND = 1.5
"""Tokens allowed in a translation per source token beyond the longest training source."""
_MOST_SOURCE, _MOST_JOINTS, _MOST_NUMBER = 100_000, 10_000_000, 1 << 40
"""Limits on the entries of a file, which is untrusted."""
_MOST_LETTERS = 100_000_000
"""Limit on the total length of its words."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Translations or words with similar confidence (Guo et al. 2017, section 2).

    Attributes:
        claimed: mean predicted probability of being right.
        right: share that was right.
        count: number of translations or words.
    """

    claimed: float
    right: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """How often a model's output is right, by its confidence, measured on validation pairs.

    Attributes:
        weights: weights of a logistic regression on the features of `transformer.analysis.confidence`, with
            the intercept last.
        bins: bins of equal size, the least confident first; cross-validated.
        brier: mean squared difference between the predicted probability and 1 or 0; cross-validated.
    """

    weights: tuple[float, ...]
    bins: tuple[ReliabilityBin, ...]
    brier: float

    @property
    def points(self) -> npt.NDArray[np.float64]:
        """The bins as a table: (n, 3), one row per bin with claimed, right and count."""
        return np.array([(one.claimed, one.right, one.count) for one in self.bins], dtype=np.float64)

    @property
    def count(self) -> int:
        """The number of judged outputs."""
        return sum(one.count for one in self.bins)

    @property
    def right(self) -> float:
        """The share that was right."""
        return sum(one.right * one.count for one in self.bins) / self.count

    @property
    def error(self) -> float:
        """Expected calibration error: mean difference between predicted and actual accuracy over the bins."""
        return sum(abs(one.claimed - one.right) * one.count for one in self.bins) / self.count


@dataclass(frozen=True, eq=False)
class Experience:
    """Statistics of the targets that a model was trained on.

    Attributes:
        longest: most tokens allowed in a translation, by the number of source tokens from 0; both counted as
            in `model_input.target_limit`.
        n_pieces: size of the target vocabulary.
        joints: pairs of adjacent pieces inside a word as before * n_pieces + after, (n,) sorted.
        calibrations: calibrations for sentences and words; None if not measured.
        translated: case-folded source words that most translations do not copy; None if not recorded. All
            other words were copied, or never seen.
    """

    longest: tuple[int, ...]
    n_pieces: int
    joints: npt.NDArray[np.int64]
    calibrations: tuple[Calibration, Calibration] | None = None
    translated: frozenset[str] | None = None

    def most_tokens(self, n_source: int) -> int:
        """The most tokens allowed in a translation of `n_source` tokens, counting `<eos>` on both sides."""
        last = len(self.longest) - 1
        return self.longest[min(n_source, last)] + int(BEYOND * max(0, n_source - last))

    def has_joined(self, before: int, after: int) -> bool:
        """True if a piece directly followed another inside a word of the training data."""
        code = before * self.n_pieces + after
        place = int(np.searchsorted(self.joints, code))
        return place < len(self.joints) and int(self.joints[place]) == code

    def to_plain(self) -> dict[str, Any]:
        """Convert to plain values for JSON; sorted joints are stored as the short gaps between them."""
        gaps = np.diff(self.joints, prepend=0)
        plain = {"longest": list(self.longest), "n_pieces": self.n_pieces, "joints": gaps.tolist()}
        if self.calibrations is not None:
            plain["calibrations"] = list(map(asdict, self.calibrations))
        if self.translated is not None:
            plain["translated"] = " ".join(sorted(self.translated))
        return plain


def experience_from_plain(values: dict[str, Any], where: str, n_pieces: int) -> Experience:
    """The inverse of `Experience.to_plain`.

    Args:
        where: the file, for messages.
        n_pieces: size of the model's target vocabulary.

    Raises:
        CheckpointError: for invalid values, or another vocabulary.
    """
    longest = _whole_numbers(values, "longest", _MOST_SOURCE, where)
    gaps = _whole_numbers(values, "joints", _MOST_JOINTS, where)
    if not longest or values.get("n_pieces") != n_pieces or sum(gaps) >= n_pieces * n_pieces:
        raise CheckpointError(f"{where} is of another vocabulary: save the model again, or remove the file.")
    joints = np.cumsum(np.array(gaps, dtype=np.int64))
    try:
        measured = values.get("calibrations")
        calibrations = (
            None if measured is None else (_calibration(measured[0], 3), _calibration(measured[1], 2))
        )
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise CheckpointError(
            f"{where}: its calibrations can't be read ({error}): save the model again, or remove the file."
        ) from error
    return Experience(tuple(longest), n_pieces, joints, calibrations, _words(values, "translated", where))


def _words(values: dict[str, Any], name: str, where: str) -> frozenset[str] | None:
    found = values.get(name)
    if found is None:
        return None
    if not isinstance(found, str) or len(found) > _MOST_LETTERS:
        raise CheckpointError(
            f"{where}: {name} is not a text of words: save the model again, or remove the file."
        )
    return frozenset(found.split())


def _calibration(values: dict[str, Any], n_features: int) -> Calibration:
    bins = tuple(
        ReliabilityBin(_finite(one["claimed"]), _finite(one["right"]), int(one["count"]))
        for one in values["bins"]
    )
    if not bins or any(one.count < 1 for one in bins):
        raise ValueError("there are no bins, or empty ones")
    weights = tuple(map(_finite, values["weights"]))
    if len(weights) != n_features + 1:
        raise ValueError(f"{len(weights)} weights")
    return Calibration(weights, bins, _finite(values["brier"]))


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value} is not finite")
    return number


def _whole_numbers(values: dict[str, Any], name: str, most: int, where: str) -> Sequence[int]:
    found = values.get(name)
    if isinstance(found, list) and len(found) <= most:
        numbers = [number for number in found if type(number) is int and 0 <= number < _MOST_NUMBER]
        if len(numbers) == len(found):
            return numbers
    raise CheckpointError(
        f"{where}: {name} is not a list of whole numbers: save the model again, or remove the file."
    )
