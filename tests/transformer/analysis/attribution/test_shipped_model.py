"""What the shipped model's agreement depends on, and which of its translations have another source."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import headlight
from tests.support.auroc import auroc
from transformer.analysis.attribution.source_share import SourceShare, source_share
from transformer.analysis.interventions.knock_outs import word_effects
from transformer.analysis.interventions.questions import Question, logit_row, word_questions
from transformer.data.tasks.toy_en_it import MinimalPair, ToyEnIt, minimal_pairs
from transformer.loaded import LoadedModel
from transformer.model_input import encode_sentence
from transformer.run import Run, force

N_PAIRS = 200


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return headlight.open("toy-en-it")


def forced(loaded: LoadedModel, source: tuple[str, ...], target: tuple[str, ...]) -> Run:
    read = encode_sentence(loaded, "source", " ".join(source), "source")
    written = encode_sentence(loaded, "target", " ".join(target), "target")
    assert (read.words, written.words) == (list(source), list(target))
    return force(loaded, read, written)


def known(loaded: LoadedModel, feature: str) -> Iterator[MinimalPair]:
    """The minimal pairs whose words the model knows."""
    for pair in minimal_pairs("gender" if feature == "gender" else "number"):
        texts = [
            coder.encode(" ".join(words))
            for one in (pair.first, pair.second)
            for coder, words in ((loaded.source, one.source), (loaded.target, one.target))
        ]
        if not any(any(text.unknown) for text in texts):
            yield pair


def effects(loaded: LoadedModel, pair: MinimalPair) -> np.ndarray:
    """The mean effect of each source word on both sides of a pair: (words,).

    The question is the first word that differs, against its counterpart. Both directions, because a model
    without the deciding word writes the masculine or the singular anyway: there the word seems not to matter.
    """
    place, found = pair.changed[0], []
    for own, other in itertools.permutations((pair.first, pair.second)):
        run = forced(loaded, own.source, own.target)
        (word,), (rival,) = (loaded.target.encode(one.target[place]).ids for one in (own, other))
        question = Question(own.target[place], (logit_row(run, place),), (word,), rival, other.target[place])
        found.append(word_effects(loaded, run, [question])[: len(own.source), 0].numpy())
    return np.mean(found, axis=0)


@pytest.mark.parametrize("feature", ["gender", "number"])
def test_the_knock_out_ranks_the_deciding_source_word_first(loaded: LoadedModel, feature: str) -> None:
    pairs = list(itertools.islice(known(loaded, feature), N_PAIRS // 2))
    assert len(pairs) == N_PAIRS // 2
    first = [int(effects(loaded, pair).argmax()) == pair.exchanged for pair in pairs]
    assert np.mean(first) >= 0.95  # 0.99 for gender, 0.98 for number


def test_an_exchanged_source_does_not_explain_the_target(loaded: LoadedModel) -> None:
    pairs = list(itertools.islice(ToyEnIt().pairs(3, held_out=True), 60))
    exchanged = [*pairs[1:], pairs[0]]

    def share(source: tuple[str, ...], target: tuple[str, ...]) -> SourceShare:
        read = encode_sentence(loaded, "source", " ".join(source), "source")
        run = force(loaded, read, encode_sentence(loaded, "target", " ".join(target), "target"))
        return source_share(loaded, run, word_questions(loaded, run))

    right = [share(one.source, one.target) for one in pairs]
    wrong = [share(other.source, one.target) for one, other in zip(pairs, exchanged, strict=True)]
    explained = auroc(*(np.array([one.explained for one in side]) for side in (right, wrong)))
    probability = auroc(*(np.array([one.log_probabilities.sum() for one in side]) for side in (right, wrong)))
    assert explained >= max(0.95, probability)
