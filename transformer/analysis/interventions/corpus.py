"""Which heads matter over a file of sentences: the mean effect of each, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.interventions.heads import Switch, head_effects
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import Question, suppressed_ids, word_questions
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.run import Run, run_sentence


class OutputEffects(NamedTuple):
    """What the whole outputs of n runs lose without each head, in nats per token.

    Attributes:
        effects: (n, heads): by how much the log-probability of each output falls.
        log_probabilities: (n,): that of each output in the run itself.
    """

    effects: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]


def whole_output(loaded: LoadedModel, run: Run) -> Question:
    """Asks for the log-probability of a run's whole output."""
    words = word_questions(loaded, run)
    rows = tuple(row for word in words for row in word.rows)
    return Question(run.translation, rows, tuple(index for word in words for index in word.ids))


def output_effects(
    loaded: LoadedModel, run: Run, switch: Switch, on_progress: OnProgress | None = None
) -> OutputEffects:
    """What one run's whole output loses without each head: n is 1.

    Args:
        loaded: a model with a generator.
        run: its run.
        switch: how heads are switched off.
        on_progress: see `OnProgress`.
    """
    question = whole_output(loaded, run)
    effects = head_effects(loaded, run, [question], switch, on_progress)[:, 0].numpy()
    own = question.value(run.trace["logits"], suppressed_ids(loaded, run)).numpy()
    n_tokens = len(question.ids)
    return OutputEffects(effects[None] / n_tokens, own / n_tokens)


def corpus_effects(
    loaded: LoadedModel,
    pairs: Sequence[tuple[str, str]],
    switch: Switch,
    on_progress: OnProgress | None = None,
) -> OutputEffects:
    """What each target loses without each head: n is the number of pairs.

    Args:
        loaded: a model with a generator.
        pairs: source and target of each sentence; a blank target is generated.
        switch: how heads are switched off.
        on_progress: called after each pair.

    Raises:
        SentenceError: a pair can't be run; the message names it.
    """
    found = []
    for number, (source, target) in enumerate(pairs, start=1):
        try:
            run = run_sentence(loaded, source, target)
        except SentenceError as error:
            raise SentenceError(f"Pair {number}: {error}") from error
        found.append(output_effects(loaded, run, switch))
        if on_progress is not None:
            on_progress(number, len(pairs))
    return OutputEffects(*map(np.concatenate, zip(*found, strict=True)))
