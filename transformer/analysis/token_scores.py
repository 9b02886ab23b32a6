"""What a model thought of each token of a target, from its logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.loaded import LoadedModel
from transformer.run import Run


@dataclass(frozen=True)
class TokenScores:
    """Of each of T tokens, given those before it.

    Attributes:
        log_probabilities: (T,), in nats.
        entropies: (T,) of the whole distribution that it was taken from, in bits.
        ranks: (T,) its place among all tokens, from 1.
    """

    log_probabilities: NDArray[np.float64]
    entropies: NDArray[np.float64]
    ranks: NDArray[np.int64]

    @property
    def total(self) -> float:
        """Log-probability of all tokens together."""
        return float(self.log_probabilities.sum())

    @property
    def perplexity(self) -> float:
        """e to the minus mean log-probability: among how many tokens the model was torn, on average."""
        return float(np.exp(-self.log_probabilities.mean()))


def token_scores(
    logits: NDArray[np.float32], ids: Sequence[int], suppressed_ids: Sequence[int]
) -> TokenScores:
    """Score the tokens of a target.

    Args:
        logits: (T, V).
        ids: T tokens, each taken at its row.
        suppressed_ids: ids that can't come next: their probability is 0.
    """
    values = logits.astype(np.float64)
    values[:, list(suppressed_ids)] = -np.inf
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
    probabilities = np.exp(values)
    surprises = np.where(probabilities > 0, -values, 0) / np.log(2)
    own = values[np.arange(len(ids)), list(ids)]
    return TokenScores(
        log_probabilities=own,
        entropies=(probabilities * surprises).sum(axis=1),
        ranks=1 + (values > own[:, None]).sum(axis=1),
    )


def target_scores(loaded: LoadedModel, run: Run) -> tuple[tuple[int, ...], TokenScores]:
    """The ids of a run's target, what ends it included, and what the model thought of each."""
    ids = tuple(step.token_id for step in run.steps)
    suppressed = loaded.target.special_tokens.suppressed
    return ids, token_scores(run.target_logits[: len(ids)].numpy(), ids, suppressed)


def parting(first: Sequence[int], second: Sequence[int]) -> int | None:
    """The first position at which two targets differ; None if they are the same."""
    for position, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return position
    return None if len(first) == len(second) else min(len(first), len(second))
