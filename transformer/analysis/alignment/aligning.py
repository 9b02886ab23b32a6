"""Aligns the words of sentence pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transformer.analysis.alignment.attention import Pair, check_can_align, encode_pair, pair_trace
from transformer.analysis.alignment.choice import Choice, choose, weights_of
from transformer.analysis.alignment.links import Link, argmax_links, symmetric_links
from transformer.loaded import LoadedModel


@dataclass(frozen=True)
class Alignment:
    """The links of sentence pairs.

    Attributes:
        links: for each pair, (source word, target word) from 0, in ascending order.
        choice: the heads and rows that they were read from; None if no pair has words on both sides.
    """

    links: tuple[tuple[Link, ...], ...]
    choice: Choice | None


def align(model: LoadedModel, pairs: Sequence[tuple[str, str]], *, seed: int = 0) -> Alignment:
    """Align the words of sentence pairs: `align(model, [("a black cat", "un gatto nero")])`.

    The heads, and the row that stands for a target word, are chosen by knock-outs on a sample of the pairs;
    see `transformer.analysis.alignment.choice`.

    Args:
        model: a translation model, such as `headlight.open("en-it")`.
        pairs: sources and targets, words separated by spaces. A pair with an empty side has no links.
        seed: seed of the sample.

    Raises:
        headlight.AlignmentError: for a model without cross-attention or generator.
        headlight.SentenceError: for a sentence with more tokens than the model has positions.
    """
    check_can_align(model)
    encoded = [encode_pair(model, *pair, f" of pair {number}") for number, pair in enumerate(pairs)]
    full = [pair for pair in encoded if pair is not None]
    if not full:
        return Alignment(((),) * len(pairs), None)
    choice = choose(model, full, seed=seed)
    found = pair_links(model, full, choice)
    return Alignment(tuple(() if pair is None else tuple(sorted(next(found)[0])) for pair in encoded), choice)


def pair_links(
    loaded: LoadedModel, pairs: Sequence[Pair], choice: Choice
) -> Iterator[tuple[set[Link], set[Link]]]:
    """Align pairs one by one: the links, and for comparison those of the plain argmax.

    The plain argmax links each target word to the source word with the highest weight, averaged over all
    heads of the layer that agrees best.
    """
    for pair in pairs:
        trace = pair_trace(loaded, pair)
        plain = argmax_links(weights_of(trace, pair, [choice.layer]))
        yield symmetric_links(weights_of(trace, pair, choice.parts)), plain
