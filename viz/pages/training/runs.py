"""What both tabs ask of a sentence and of its run in a model that learns."""

from __future__ import annotations

import math
import statistics

from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run


def check_length(loaded: LoadedModel, text: str) -> None:
    """Refuse a text that is too long, in words for pages on which no other model can be chosen.

    Raises:
        SentenceError: that names the limit.
    """
    n = len(loaded.source.encode(text).ids)
    most = loaded.model.config.max_len - len(loaded.source.frame(()))
    if n > most:
        raise SentenceError(
            f"The text has {n:,} tokens; the models of this training read at most {most}. Type a shorter one."
        )


def mean_probability(run: Run) -> float:
    """The geometric mean of what the model gave the tokens of a target, each given those before it."""
    return math.exp(statistics.fmean(math.log(max(step.probability, 1e-30)) for step in run.steps))
