"""The length check of a sentence and the probability of a run, for both tabs."""

from __future__ import annotations

import math
import statistics

from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run


def check_length(loaded: LoadedModel, text: str) -> None:
    """Refuse a text that is too long, with advice for pages on which the model can't be changed.

    Raises:
        SentenceError: the text exceeds the limit, which the message names.
    """
    n = len(loaded.source.encode(text).ids)
    most = loaded.model.config.max_len - len(loaded.source.frame(()))
    if n > most:
        raise SentenceError(
            f"The text has {n:,} tokens; the models of this training run read at most {most}. Type a shorter "
            "one."
        )


def mean_probability(run: Run) -> float:
    """The geometric mean of the probabilities of a target's tokens, each given those before it."""
    return math.exp(statistics.fmean(math.log(max(step.probability, 1e-30)) for step in run.steps))
