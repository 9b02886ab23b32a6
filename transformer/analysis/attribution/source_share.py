"""Source or prefix: how much of each output word came from the source, and a score for hallucinations.

Two measures, because they answer different questions. ALTI+ says where the vector that chooses a word came
from. The gain says what the word owes to the source's words: its log-probability minus the one it keeps
without them. The two may differ: a full stop may be mixed from the source's and be as probable after an empty
source. A word without a gain needs no word of the source; it may still need the tokens that frame it, such as
<eos>, which stay. Over a whole target the gains add up to the pointwise
mutual information log p(y | x) - log p(y | no source) (Li et al. 2016, arXiv:1510.03055, section 4); divided
by -log p(y | no source) they are the part of the target's surprise that the source explains.

Measured with en-it on 500 pairs of Tatoeba that it was not trained on, and on the same targets with exchanged
sources: that part tells the two apart with an AUROC of 0.99999 (valid) and 0.9999 (test), the
target's log-probability with 0.996 and 0.997 (0.99998 and 0.99994 per token), ALTI+'s mean share of the
source with 0.959 and 0.957.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import words_of
from transformer.analysis.attribution.alti import alti
from transformer.analysis.interventions.knock_outs import KnockOut, input_stack, without_tokens
from transformer.analysis.interventions.outcomes import Variant, outcomes
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run

Scores = NDArray[np.float64]
LEAST_GAIN = float(np.log(2))
"""Nats: a word that the source's words make less than twice as probable needs none of them."""


class NoPrefixError(ValueError):
    """The model has no target prefix that a word could come from."""

    def __init__(self) -> None:
        super().__init__(
            "This model has no decoder, so its words don't follow a prefix: all that it reads is the source."
        )


@dataclass(frozen=True)
class SourceShare:
    """Where each of W output words came from.

    Attributes:
        source: share of the source in ALTI+, from 0 to 1; the rest is the prefix's. None for a model whose
            heads can't be told apart.
        coverage: what each source word gave to the output, by `source_words`: the sum of its shares in all
            output tokens. None as for `source`.
        source_words: the words of the source; without an encoder, of the prompt.
        log_probabilities: of the words, in nats.
        gains: how much of it is lost without the source.
    """

    source: Scores | None
    coverage: Scores | None
    source_words: tuple[str, ...]
    log_probabilities: Scores
    gains: Scores

    @property
    def needs_no_source_word(self) -> NDArray[np.bool_]:
        """True for the words with less than `LEAST_GAIN`."""
        marked: NDArray[np.bool_] = self.gains < LEAST_GAIN
        return marked

    @property
    def explained(self) -> float:
        """The part of the target's surprise that the source explains: near 1 for a faithful translation.

        0 or less if the target is not more probable with the source than without it; NaN if it is certain
        without it.
        """
        without = float((self.log_probabilities - self.gains).sum())
        return float(self.gains.sum()) / -without if without < 0 else math.nan


def source_share(loaded: LoadedModel, run: Run, questions: Sequence[Question]) -> SourceShare:
    """The shares and gains of the words that are asked about, such as all of `word_questions`.

    Raises:
        NoPrefixError: for a model without a decoder.
    """
    if run.decoder_input is None:
        raise NoPrefixError
    stack, places = source_places(loaded, run)
    words = words_of(run, stack)
    n_words = int(words.word_of[max(places)]) + 1 if stack == "decoder" else len(words.labels)
    log_probabilities, gains = source_gains(loaded, run, questions)
    source = coverage = None
    if loaded.model.config.merge_heads == "transposed":
        shares = alti(loaded, run).by_stack[stack][:, : words.tokens(n_words - 1).stop]  # (T, source tokens)
        source = np.array([shares[list(one.rows)].sum(axis=1).mean() for one in questions])
        rows = sorted({row for one in questions for row in one.rows})
        coverage = np.add.reduceat(shares[rows].sum(axis=0), words.starts[:n_words])
    return SourceShare(source, coverage, words.labels[:n_words], log_probabilities, gains)


def source_gains(
    loaded: LoadedModel, run: Run, questions: Sequence[Question], how: KnockOut | None = None
) -> tuple[Scores, Scores]:
    """Each answer, and how much it falls if all words of the source are taken away at once.

    The target stays as it is, and so do the tokens that frame the source.

    Args:
        loaded: a model with a generator.
        run: its run.
        questions: what is asked of the output.
        how: by default "masked" with an encoder; "unknown" without one, where the last word of a prompt would
            still be seen by its own position.
    """
    stack, places = source_places(loaded, run)
    default: KnockOut = "masked" if stack == "encoder" else "unknown"
    variants: list[Variant] = [{}, without_tokens(loaded, run, places, how or default)]
    answers = outcomes(loaded, run, variants, questions).numpy()
    return answers[0], answers[0] - answers[1]


def source_places(loaded: LoadedModel, run: Run) -> tuple[Stack, list[int]]:
    """The stack that reads the source or the prompt, and the positions of its words' tokens there."""
    stack = input_stack(loaded.model.config)
    read = run.encoder_input if stack == "encoder" else run.decoder_input
    assert read is not None
    return stack, list(range(read.first, read.first + len(run.source.ids)))
