"""Probability of each token of a target, from the model's logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.loaded import LoadedModel
from transformer.run import Run


@dataclass(frozen=True)
class TokenScores:
    """Scores of T tokens, each given those before it.

    Attributes:
        log_probabilities: (T,) in nats.
        entropies: (T,) entropy of the distribution at each step, in bits.
        ranks: (T,) rank of each token in the vocabulary; the most probable has rank 1.
    """

    log_probabilities: NDArray[np.float64]
    entropies: NDArray[np.float64]
    ranks: NDArray[np.int64]

    @property
    def total(self) -> float:
        """The log-probability of the whole target, in nats."""
        return float(self.log_probabilities.sum())

    @property
    def perplexity(self) -> float:
        """exp(-mean log-probability): the number of equally probable tokens with the same uncertainty."""
        return float(np.exp(-self.log_probabilities.mean()))


def token_scores(
    logits: NDArray[np.float32], ids: Sequence[int], suppressed_ids: Sequence[int]
) -> TokenScores:
    """Score the tokens of a target.

    Args:
        logits: (T, V).
        ids: the T tokens of the target, one per row.
        suppressed_ids: ids that can't be generated: their probability is 0.
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


@dataclass(frozen=True)
class ScoredTarget:
    """The T tokens of a target, including the end token, with their ids and scores."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    scores: TokenScores


def scored_target(loaded: LoadedModel, run: Run) -> ScoredTarget:
    """Score the target of a run."""
    ids = tuple(step.token_id for step in run.steps)
    scores = token_scores(run.target_logits[: len(ids)].numpy(), ids, loaded.target.special_tokens.suppressed)
    return ScoredTarget(ids, tuple(map(loaded.target.token, ids)), scores)


def parting(first: Sequence[int], second: Sequence[int]) -> int | None:
    """The first position at which two targets differ; None if they are equal."""
    for position, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return position
    return None if len(first) == len(second) else min(len(first), len(second))
