"""Pictures of where an output word came from, each judged by taking the words away.

Norms of what is moved, ALTI+, integrated gradients, and rollout as a foil. "Which picture lies?" is answered
for this sentence and this question only: by rank correlation with the knock-outs, and by normalised removal
curves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.attention_maps import STACKS, Words, words_of
from transformer.analysis.attribution.agreement import BAND, Agreement, agreement
from transformer.analysis.attribution.alti import alti
from transformer.analysis.attribution.integrated_gradients import (
    Baseline,
    IntegratedGradients,
    integrated_gradients,
)
from transformer.analysis.attribution.removal import Removals
from transformer.analysis.attribution.rollout import rollout
from transformer.analysis.attribution.value_norms import value_norms
from transformer.analysis.interventions.knock_outs import KnockOut, input_stack, word_effects
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack
from transformer.run import Run

PictureName = Literal["norms", "alti", "gradients", "rollout"]
PICTURES: tuple[PictureName, ...] = get_args(PictureName)
Scores = NDArray[np.float64]
N_RANDOM = 1000
N_RANDOM_BEAM = 40
"""Random orders for the band of NAOPC: fewer where each costs forward passes of its own."""


@dataclass(frozen=True)
class Picture:
    """The scores of one picture.

    Attributes:
        by_stack: each word's score, the sum over its tokens, by stack: (words,).
        agreement: rank correlation with the knock-outs.
        naopc: normalised mean fall if words are taken away in the picture's order.
    """

    by_stack: dict[Stack, Scores]
    agreement: Agreement
    naopc: float


@dataclass(frozen=True)
class CameFrom:
    """Knock-outs and pictures of one question.

    Attributes:
        words: the words of each stack's input.
        stack: the stack whose words the pictures are judged on: see `input_stack`.
        judged: indices of the words they are judged on: those of the sentence, without the tokens that frame
            it and, in a decoder, without those after the question's first row.
        effects: what each word's removal costs, by stack: (words,).
        pictures: by name; empty if the model's heads can't be told apart, except for "gradients".
        gradients: the answers at both ends of the integrated gradients.
        naopc: of the knock-outs' own order.
        naopc_band: of 95 % of random orders.
        is_exact: whether the best and the worst order are exact: see `Removals`.
    """

    words: dict[Stack, Words]
    stack: Stack
    judged: tuple[int, ...]
    effects: dict[Stack, Scores]
    pictures: dict[PictureName, Picture]
    gradients: IntegratedGradients
    naopc: float
    naopc_band: tuple[float, float]
    is_exact: bool


def came_from(
    loaded: LoadedModel,
    run: Run,
    question: Question,
    *,
    how: KnockOut = "unknown",
    baseline: Baseline = "unknown",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> CameFrom:
    """Knock out every word, and draw and judge all pictures that apply.

    Args:
        loaded: a model with a generator.
        run: its run.
        question: what is asked of the output.
        how: how words are taken away; not "resampled", whose draws would differ from set to set.
        baseline: of the integrated gradients.
        seed: seed of the random orders.
        on_progress: see `OnProgress`; called with sets of words taken away.
    """
    read = {"encoder": run.encoder_input, "decoder": run.decoder_input}
    words = {stack: words_of(run, stack) for stack in STACKS if read[stack] is not None}
    stack = input_stack(loaded.model.config)
    judged = judged_words(run, question, stack)
    places = [words[stack].tokens(word) for word in judged]
    removals = Removals(loaded, run, question, places, how, on_progress)
    effects = {one: word_effects(loaded, run, [question], how, stack=one)[:, 0].numpy() for one in words}
    own = effects[stack][judged]
    gradients = integrated_gradients(loaded, run, question, baseline)
    by_word = {
        name: {one: np.add.reduceat(scores, words[one].starts) for one, scores in by_token.items()}
        for name, by_token in scores_by_token(loaded, run, question, gradients).items()
    }
    chosen = {name: scores[stack][judged] for name, scores in by_word.items()}
    orders = [order(own), *map(order, chosen.values()), *_random_orders(removals, seed)]
    own_naopc, *naopcs = removals.normalized(orders)
    low, high = np.percentile(naopcs[len(chosen) :], BAND)
    return CameFrom(
        words=words,
        stack=stack,
        judged=tuple(judged),
        effects=effects,
        pictures={
            name: Picture(by_word[name], agreement(scores, own, seed=seed), float(naopc))
            for (name, scores), naopc in zip(chosen.items(), naopcs, strict=False)
        },
        gradients=gradients,
        naopc=float(own_naopc),
        naopc_band=(float(low), float(high)),
        is_exact=removals.is_exact,
    )


def judged_words(run: Run, question: Question, stack: Stack) -> list[int]:
    """Indices of the words that a picture is judged on: see `CameFrom`."""
    read = run.encoder_input if stack == "encoder" else run.decoder_input
    assert read is not None
    last = len(read.ids) - 1 if stack == "encoder" else question.rows[0]
    framed = range(read.first, read.first + len(read.sentence.ids))
    words = words_of(run, stack)
    return [
        word
        for word in range(len(words.labels))
        if all(place in framed and place <= last for place in words.tokens(word))
    ]


def scores_by_token(
    loaded: LoadedModel, run: Run, question: Question, gradients: IntegratedGradients
) -> dict[PictureName, dict[Stack, Scores]]:
    """The scores of all pictures that apply, by stack: (tokens,)."""
    found: dict[PictureName, dict[Stack, Scores]] = {}
    if loaded.model.config.merge_heads == "transposed":
        found["norms"] = value_norms(loaded, run, question)
        found["alti"] = alti(loaded, run).of(question.rows)
        found["rollout"] = rollout(loaded, run).of(question.rows)
    return found | {"gradients": gradients.by_stack}


def _random_orders(removals: Removals, seed: int) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    n_orders = N_RANDOM if removals.is_exact else N_RANDOM_BEAM
    return [generator.permutation(removals.n).tolist() for _ in range(n_orders)]


def order(scores: Scores) -> list[int]:
    """The indices of scores from the highest; of equal ones, the first comes first."""
    return np.argsort(-scores, kind="stable").tolist()
