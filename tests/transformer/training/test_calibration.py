"""Claims about translations, and how often they are right: fitted, cross-validated, saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from tests.support.models import tiny_subword_model
from transformer.analysis.confidence import calibrated as share_right
from transformer.analysis.confidence import confidence, log_probabilities, word_features
from transformer.analysis.token_scores import scored_target
from transformer.checkpoints.folder import open_saved, save_model
from transformer.data.corpus import Referenced
from transformer.data.encoded import write_corpus
from transformer.errors import CheckpointError
from transformer.experience import (
    EXPERIENCE,
    Calibration,
    Experience,
    ReliabilityBin,
    experience_from_plain,
)
from transformer.run import run_sentence
from transformer.text.copied import CopiedWords
from transformer.text.subwords import SubwordCoder
from transformer.training.calibration import BINS, calibrate, fit_logistic
from transformer.training.experience import collect_experience

LOADED = tiny_subword_model(1)
SOURCES = ["I see the dog.", "Yesterday a cat saw the dogs!", "The cat.", "I don't see you."] * 5


def test_a_regression_finds_what_the_data_were_made_with() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(20_000, 2))
    p = 1 / (1 + np.exp(-(features @ [2.0, -1.0] + 0.5)))
    weights = fit_logistic(features, rng.random(20_000) < p)
    assert weights == pytest.approx([2.0, -1.0, 0.5], abs=0.1)


def test_a_regression_on_what_is_always_right_has_an_answer() -> None:
    weights = fit_logistic(np.array([[1.0], [2.0], [3.0]]), np.array([True, True, True]))
    assert np.isfinite(weights).all()


@pytest.fixture(scope="module")
def experience(tmp_path_factory: pytest.TempPathFactory) -> Experience:
    """The experience of an untrained model; half of its words and some of its sentences count as right."""
    pairs = [(LOADED.source.encode(text).ids, LOADED.target.encode("il cane").ids) for text in SOURCES]
    seen = collect_experience(
        write_corpus(tmp_path_factory.mktemp("corpus"), pairs), LOADED.source, LOADED.target
    )
    data = []
    for number, text in enumerate(SOURCES):
        written = run_sentence(LOADED, text).translation
        reference = written if number % 2 else "niente"
        data.append(Referenced(text, (reference,), "here"))
    return calibrate(seen, LOADED, data)


def test_bins_hold_all_that_was_judged(experience: Experience) -> None:
    assert experience.calibrations is not None
    sentences, words = experience.calibrations
    assert sentences.count == len(SOURCES)
    assert sentences.right == pytest.approx(0.5)
    assert words.count >= sentences.count
    for one in (sentences, words):
        assert len(one.bins) == BINS
        claims = [part.claimed for part in one.bins]
        assert claims == sorted(claims)
        assert 0 <= one.brier <= 1
        assert 0 <= one.error <= 1


def test_a_translation_s_words_and_their_probabilities(experience: Experience) -> None:
    run = run_sentence(LOADED, SOURCES[0])
    target = scored_target(LOADED, run)
    written = LOADED.target.describe_ids([index for index in target.ids if index not in LOADED.end_ids])
    found = confidence(experience, written, list(target.scores.log_probabilities))
    assert found is not None
    assert [word.text for word in found.words] == written.words
    assert all(0 <= one <= 1 for one in (found.probability, *(word.probability for word in found.words)))
    assert found.is_usually_wrong == (found.probability < 0.5)


def test_a_word_of_pieces_that_never_met_is_new(experience: Experience) -> None:
    seen = LOADED.target.encode("cane")
    assert [features[1] for features in word_features(experience, seen, [-1.0] * len(seen.ids))] == [0.0]
    other = LOADED.target.encode("xyzw")
    assert len(other.ids) > 1
    assert [features[1] for features in word_features(experience, other, [-1.0] * len(other.ids))] == [1.0]


def test_a_name_that_is_copied_is_not_new_and_its_spelling_costs_nothing(experience: Experience) -> None:
    """Only its beginning and its end cost something."""
    ids = LOADED.target.encode("cane Xyzw cane").ids
    vocabulary = cast(SubwordCoder, LOADED.target).vocabulary
    copied, nothing = CopiedWords(["Xyzw"], "Xyzw", vocabulary), CopiedWords([], "Xyzw", vocabulary)
    # Four times as steep, so that the model is never unsure, where a name may begin anywhere.
    logits = 4 * torch.randn(
        (len(ids), LOADED.model.config.tgt_vocab_size), generator=torch.Generator().manual_seed(3)
    )
    free = log_probabilities(LOADED, logits, ids, nothing)
    found = log_probabilities(LOADED, logits, ids, copied)
    spelled = [place for place in range(len(ids)) if copied.is_spelling(ids[:place])]
    (after,) = [place for place in range(len(ids)) if copied.closed(ids[:place]) and place not in spelled]
    assert len(spelled) > 1
    assert [found[place] for place in spelled] == [0.0] * len(spelled)
    assert free[after] < found[after] < 0, "a letter could not follow it"
    rest = {*range(len(ids))} - {*spelled, after}
    assert all(found[place] == free[place] for place in rest)

    told = word_features(experience, LOADED.target.describe_ids(ids), found, copied)
    assert [features[1] for features in told] == [0.0, 0.0, 0.0]
    told = word_features(experience, LOADED.target.describe_ids(ids), free)
    assert [features[1] for features in told] == [0.0, 1.0, 0.0]


def test_a_name_that_begins_for_want_of_an_idea_costs_nothing() -> None:
    ids = LOADED.target.encode("cane Xyzw cane").ids
    copied = CopiedWords(["Xyzw"], "Xyzw", cast(SubwordCoder, LOADED.target).vocabulary)
    logits = torch.zeros((len(ids), LOADED.model.config.tgt_vocab_size))
    logits[range(len(ids)), ids] = 9.0
    begins = len(LOADED.target.encode("cane").ids)
    sure = log_probabilities(LOADED, logits, ids, copied)
    logits[begins] = 0.0
    unsure = log_probabilities(LOADED, logits, ids, copied)
    assert sure[begins] < unsure[begins] == 0
    assert sure[:begins] == unsure[:begins]


def test_without_a_measurement_nothing_is_claimed(experience: Experience) -> None:
    written = LOADED.target.encode("il cane")
    assert confidence(replace(experience, calibrations=None), written, [-1.0] * 20) is None
    assert confidence(experience, LOADED.target.describe_ids([]), []) is None


def test_the_surer_the_likelier() -> None:
    one = Calibration((1.0, 0.5, 0.1, 2.0), (ReliabilityBin(0.5, 0.5, 1),), 0.2)
    claims = [share_right(one, [mean, mean, mean]) for mean in (-40.0, -2.0, -1.0, 0.0)]
    assert claims == sorted(claims)
    assert 0 <= claims[0] < claims[-1] <= 1


def test_a_folder_keeps_it(tmp_path: Path, experience: Experience) -> None:
    save_model(tmp_path, replace(LOADED, experience=experience))
    found = open_saved(str(tmp_path)).experience
    assert found is not None
    assert found.calibrations == experience.calibrations


@pytest.mark.parametrize(
    "calibrations",
    [
        [],
        [{}],
        "no",
        [{"weights": [1, 2, 3], "bins": [], "brier": 0}] * 2,
        [{"weights": [1], "bins": [{"claimed": 1, "right": 1, "count": 1}], "brier": 0}] * 2,
        [{"weights": [1, 2, 3, "nan"], "bins": [{"claimed": 1, "right": 1, "count": 1}], "brier": 0}] * 2,
    ],
)
def test_damaged_ones_are_refused(experience: Experience, calibrations: object) -> None:
    values = experience.to_plain() | {"calibrations": calibrations}
    with pytest.raises(CheckpointError, match="calibrations"):
        experience_from_plain(values, f"folder/{EXPERIENCE}", experience.n_pieces)
