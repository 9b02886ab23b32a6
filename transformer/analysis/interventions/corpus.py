"""Which heads matter over a file of sentences: the mean effect of each, with an interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.interventions.heads import Switch, head_effects
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import Question, word_questions
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence


def whole_output(loaded: LoadedModel, run: Run) -> Question:
    """Asks for the log-probability of a run's whole output."""
    words = word_questions(loaded, run)
    rows = tuple(row for word in words for row in word.rows)
    return Question(run.translation, rows, tuple(index for word in words for index in word.ids))


def corpus_effects(
    loaded: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    switch: Switch,
    on_progress: OnProgress | None = None,
) -> NDArray[np.float64]:
    """How much less probable each target is without each head, in nats per token: (pairs, heads).

    Args:
        loaded: a model with a generator.
        pairs: source and target of each sentence; a blank target is generated.
        switch: how heads are switched off.
        on_progress: called after each pair.

    Raises:
        SentenceError: a pair can't be run; the message names it.
    """
    effects = []
    for number, (source, target) in enumerate(pairs, start=1):
        try:
            run = run_sentence(loaded, source, target)
        except SentenceError as error:
            raise SentenceError(f"Pair {number}: {error}") from error
        question = whole_output(loaded, run)
        effects.append(head_effects(loaded, run, [question], switch)[:, 0].numpy() / len(question.ids))
        if on_progress is not None:
            on_progress(number, len(pairs))
    return np.stack(effects)
