"""Which heads align, and by which row: chosen by what happens when source words are taken away.

No alignment by people is needed. A source word that a target word can't be predicted without is its partner
often enough to tell an aligning head from another one, and the row that reads a word from the one that writes
it. Attention then gives the links, because knock-outs are slow and weaker: a translation of a name may need
its neighbours more than itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transformer.analysis.alignment.attention import (
    CONVENTIONS,
    Convention,
    Pair,
    pair_trace,
    word_weights,
)
from transformer.analysis.alignment.links import diagonal_links
from transformer.analysis.interventions.knock_outs import KnockOut, word_effects
from transformer.analysis.interventions.questions import Question
from transformer.errors import AlignmentError
from transformer.loaded import LoadedModel
from transformer.model.trace import Trace
from transformer.run import force

N_SAMPLE = 40
"""Most pairs of which source words are taken away."""
_KNOCK_OUTS: tuple[KnockOut, ...] = ("masked", "unknown")
LEAST_GAIN = 0.01
"""Least gain in agreement for which a layer is added to the best part."""


@dataclass(frozen=True)
class Part:
    """A head, or the mean of a layer's heads, and the row that stands for a target word."""

    convention: Convention
    layer: int
    head: int | None

    def __str__(self) -> str:
        heads = "mean of heads" if self.head is None else f"head {self.head}"
        return f"layer {self.layer}, {heads} ({self.convention} row)"


@dataclass(frozen=True)
class Choice:
    """What an alignment is read from.

    Attributes:
        parts: the part that agrees best and, if that adds to it, the mean of a layer, which is steadier than
            a second head would be. Their mean is used.
        agreement: 0 to 1. The source words with the highest weights were taken away, one for each target
            word: what this cost, in log-probability, relative to the costliest source words.
        first_agreement: the same for the first part alone.
        layer: the layer whose mean over heads agrees best, for comparison.
        diagonal_agreement: agreement of the diagonal, for comparison.
        n_pairs: number of pairs in the sample.
        n_words: number of their target words.
    """

    parts: tuple[Part, ...]
    agreement: float
    first_agreement: float
    layer: Part
    diagonal_agreement: float
    n_pairs: int
    n_words: int


def weights_of(trace: Trace, pair: Pair, parts: Sequence[Part]) -> NDArray[np.float64]:
    """The mean weights of some parts between words: (target words, source words)."""
    by_row = {part.convention: word_weights(trace, pair, part.convention) for part in parts}
    mean: NDArray[np.float64] = np.mean([_of(part, by_row[part.convention]) for part in parts], axis=0)
    return mean


def _of(part: Part, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    layer = weights[part.layer]
    found: NDArray[np.float64] = layer.mean(axis=0) if part.head is None else layer[part.head]
    return found


def losses(loaded: LoadedModel, pair: Pair) -> NDArray[np.float64]:
    """What each target word loses without each source word: (target words, source words), in nats.

    The smaller loss of two, since each alone blames bystanders: hiding a word from every attention also hides
    what the encoder stores at its position, and replacing it by <unk> may upset how its neighbours are read.
    0 where a word gains.
    """
    first, ids = pair.decoder_input.first, pair.decoder_input.ids
    run = force(loaded, pair.encoder_input.sentence, loaded.target.describe_ids(ids[first:]))
    questions = [Question("", (place - 1,), (ids[place],)) for place in range(first, len(ids))]
    words = [np.flatnonzero(tokens).tolist() for tokens in pair.source_tokens]
    of_words = pair.target_tokens[:, first:].astype(np.float64)
    lost = np.full((len(pair.target_words), len(words)), np.inf)
    for how in _KNOCK_OUTS:
        effects = word_effects(loaded, run, questions, how, words=words).numpy()  # (source words, tokens)
        lost = np.minimum(lost, of_words @ np.nan_to_num(effects, posinf=0, neginf=0).T)
    return np.maximum(lost, 0)


def choose(
    loaded: LoadedModel,
    pairs: Sequence[Pair],
    *,
    seed: int = 0,
    on_pair: Callable[[int, int], None] | None = None,
) -> Choice:
    """Choose the heads that align, and their rows, on a sample of the pairs.

    Args:
        loaded: a model that `check_can_align` accepts.
        pairs: at least one.
        seed: seed of the sample.
        on_pair: called with the number of sampled pairs done and in all.

    Raises:
        AlignmentError: for weights that are not finite.
    """
    drawn = np.random.default_rng(seed).permutation(len(pairs))[:N_SAMPLE]
    sample = [pairs[place] for place in sorted(drawn.tolist())]
    lost, weights = [], []
    for number, pair in enumerate(sample, start=1):
        lost.append(losses(loaded, pair))
        trace = pair_trace(loaded, pair)
        weights.append({convention: word_weights(trace, pair, convention) for convention in CONVENTIONS})
        if not all(np.isfinite(own).all() for own in weights[-1].values()):
            raise AlignmentError(f"{loaded.name}: attention is not finite, so its weights are damaged.")
        if on_pair is not None:
            on_pair(number, len(sample))

    def matrices(*parts: Part) -> list[NDArray[np.float64]]:
        return [sum((_of(part, own[part.convention]) for part in parts), np.zeros(())) for own in weights]

    config = loaded.model.config
    every = [
        Part(convention, layer, head)
        for convention in CONVENTIONS
        for layer in range(config.n_decoder_layers)
        for head in (*range(config.n_heads), None)
    ]
    alone = {part: _agreement(matrices(part), lost) for part in every}
    first = max(every, key=alone.__getitem__)
    layers = [part for part in every if part.head is None]
    both = {part: _agreement(matrices(first, part), lost) for part in layers}
    second = max(layers, key=both.__getitem__)
    gains = both[second] >= alone[first] + LEAST_GAIN
    return Choice(
        parts=(first, second) if gains else (first,),
        agreement=both[second] if gains else alone[first],
        first_agreement=alone[first],
        layer=max(layers, key=alone.__getitem__),
        diagonal_agreement=_agreement([_diagonal(pair) for pair in sample], lost),
        n_pairs=len(sample),
        n_words=sum(len(pair.target_words) for pair in sample),
    )


def _agreement(weights: Sequence[NDArray[np.float64]], lost: Sequence[NDArray[np.float64]]) -> float:
    """The loss at the source words of highest weight, relative to the largest possible."""
    chosen = sum(
        np.take_along_axis(loss, own.argmax(axis=1)[:, None], axis=1).sum()
        for own, loss in zip(weights, lost, strict=True)
    )
    most = sum(loss.max(axis=1).sum() for loss in lost)
    return float(chosen / most) if most else 0.0


def _diagonal(pair: Pair) -> NDArray[np.float64]:
    n_source, n_target = len(pair.source_words), len(pair.target_words)
    found = np.zeros((n_target, n_source))
    for source, target in diagonal_links(n_source, n_target):
        found[target, source] = 1
    return found
