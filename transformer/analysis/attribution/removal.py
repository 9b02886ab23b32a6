"""Removal curves: words are taken away one after the other, in the order of a picture.

A picture that ranks the important words first makes it fall early. The mean fall is the area over the
perturbation curve (Samek et al. 2017, arXiv:1509.06321). What it can reach differs from sentence to sentence,
so it is set to 0 for the worst order of these words and 1 for the best (NAOPC: Edin et al. 2024,
arXiv:2408.08137).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.interventions.knock_outs import KnockOut, without_tokens
from transformer.analysis.interventions.outcomes import OnProgress, outcomes
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.run import Run

MOST_EXACT = 9
"""Most words whose 2^n subsets are all computed; with more, the extremes are found by beam search."""
MOST_SEARCHED = 40
"""Most words whose extremes are searched at all: the sets grow with the square of the words."""
BEAM_SIZE = 5
"""Sets kept at each length, as in Edin et al."""


class Removals:
    """The answers of a run with sets of words taken away, each computed once.

    Args:
        loaded: a model with a generator.
        run: its run.
        question: what is asked of the output.
        words: positions of each of the n words' tokens, in the input of `input_stack`.
        how: how a word is taken away; not "resampled".
        on_progress: see `OnProgress`; called with the number of sets computed, and about how many there are.

    Raises:
        ValueError: for "resampled".
    """

    def __init__(
        self,
        loaded: LoadedModel,
        run: Run,
        question: Question,
        words: Sequence[Sequence[int]],
        how: KnockOut = "unknown",
        on_progress: OnProgress | None = None,
    ) -> None:
        if how == "resampled":
            raise ValueError("Resampled words would differ from set to set: choose another knock-out.")
        self._loaded, self._run, self._question, self._how = loaded, run, question, how
        self._words = [tuple(word) for word in words]
        self._on_progress = on_progress
        self._known: dict[frozenset[int], float] = {}
        self._extremes: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self._words)

    @property
    def is_exact(self) -> bool:
        """True if best and worst order are searched among all orders, not by beam search."""
        return self.n <= MOST_EXACT

    @property
    def _n_expected(self) -> int:
        """About how many sets are computed in all, for the progress."""
        return 2**self.n if self.is_exact else BEAM_SIZE * self.n * self.n

    def answers(self, sets: Iterable[frozenset[int]]) -> list[float]:
        """The answer without each set of words."""
        asked = list(sets)
        new = [one for one in dict.fromkeys(asked) if one not in self._known]
        variants = [
            without_tokens(self._loaded, self._run, [p for word in one for p in self._words[word]], self._how)
            for one in new
        ]
        before = len(self._known)

        def report(done: int, _: int) -> None:
            if self._on_progress is not None:
                self._on_progress(min(before + done, self._n_expected), self._n_expected)

        found = outcomes(self._loaded, self._run, variants, [self._question], report)[:, 0].tolist()
        self._known |= dict(zip(new, found, strict=True))
        return [self._known[one] for one in asked]

    def curve(self, order: Sequence[int]) -> NDArray[np.float64]:
        """The answers without the first 0 to n words of an order: (n + 1,)."""
        return np.array(self.answers(frozenset(order[:k]) for k in range(self.n + 1)))

    def mean_fall(self, order: Sequence[int]) -> float:
        """The mean fall of the answer along an order: AOPC."""
        curve = self.curve(order)
        return float((curve[0] - curve[1:]).mean())

    def extremes(self) -> tuple[float, float]:
        """The smallest and largest mean fall of any order; see `is_exact`."""
        if self._extremes is None:
            width = 2**self.n if self.is_exact else BEAM_SIZE
            self._extremes = self._search(-1, width), self._search(1, width)
        return self._extremes

    def normalized(self, orders: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The mean falls of some orders, 0 for the worst order and 1 for the best: NAOPC, (orders,).

        Orders that beat those of the beam search are the best or worst themselves. NaN if all are equal,
        or for more than `MOST_SEARCHED` words.
        """
        if self.n > MOST_SEARCHED:
            return np.full(len(orders), math.nan)
        falls = np.array([self.mean_fall(order) for order in orders])
        low, high = self.extremes()
        low, high = min(low, falls.min()), max(high, falls.max())
        return (falls - low) / (high - low) if high - low > 1e-12 else np.full(len(orders), math.nan)

    def _search(self, sign: int, width: int) -> float:
        """The extreme mean fall, by the best `width` sets of each size.

        What follows depends on the set alone, so of all orders of a set only the best counts.
        """
        (whole,) = self.answers([frozenset()])
        best: dict[frozenset[int], float] = {frozenset(): 0.0}
        for _ in range(self.n):
            after = [
                (one | {word}, total)
                for one, total in best.items()
                for word in range(self.n)
                if word not in one
            ]
            answers = self.answers(one for one, _ in after)
            reached: dict[frozenset[int], float] = {}
            for (one, total), answer in zip(after, answers, strict=True):
                fallen = total + sign * (whole - answer)
                reached[one] = max(reached.get(one, -math.inf), fallen)
            kept = sorted(reached.items(), key=lambda item: -item[1])[:width]
            best = dict(kept)
        (total,) = best.values()
        return sign * total / max(self.n, 1)
