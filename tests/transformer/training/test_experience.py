"""What is recorded about the training pairs, and that it is saved in the model's folder."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.models import tiny_subword_model
from transformer.checkpoints.folder import open_saved, save_model
from transformer.data.encoded import write_corpus
from transformer.errors import CheckpointError
from transformer.experience import EXPERIENCE, Experience
from transformer.model_input import target_limit
from transformer.training.experience import ROOM, collect_experience

LOADED = tiny_subword_model(1)
SOURCE, TARGET = LOADED.source, LOADED.target


def test_joints_are_inside_words_and_inside_sentences(tmp_path: Path) -> None:
    targets = [TARGET.encode("il cane").ids, TARGET.encode("dei gatti").ids]
    corpus = write_corpus(tmp_path, [([5], ids) for ids in targets])
    experience = collect_experience(corpus, SOURCE, TARGET)
    starts = [TARGET.token(index).startswith("▁") for index in range(len(TARGET.vocabulary))]
    for ids in targets:
        pairs = list(itertools.pairwise(ids))
        assert [experience.has_joined(*pair) for pair in pairs] == [not starts[after] for _, after in pairs]
    assert not experience.has_joined(targets[0][-1], targets[1][0]), "another sentence"
    assert not experience.has_joined(targets[0][-1], targets[0][-1]), "never seen"


def test_the_limit_is_that_of_training(tmp_path: Path) -> None:
    pairs = [([5] * 3, [6] * 4), ([5] * 3, [6] * 7), ([5] * 6, [6] * 5)]
    experience = collect_experience(write_corpus(tmp_path, pairs), SOURCE, TARGET)
    assert experience.most_tokens(4) == 8 + ROOM, "seven and <eos>, the longest of its kind"
    assert experience.most_tokens(7) == 8 + ROOM, "no shorter for a longer source"
    assert experience.most_tokens(2) == ROOM
    assert experience.most_tokens(17) == 8 + ROOM + 15, "beyond what was seen it grows"
    assert target_limit(replace(LOADED, experience=experience), 4) == 8 + ROOM


def test_one_outlier_among_thousands_moves_nothing(tmp_path: Path) -> None:
    pairs = [([5] * 3, [6] * 4)] * 5000 + [([5] * 3, [6] * 80)]
    assert collect_experience(write_corpus(tmp_path, pairs), SOURCE, TARGET).most_tokens(4) == 5 + ROOM


def test_a_word_is_translated_unless_most_translations_have_it(tmp_path: Path) -> None:
    texts = [("The cat sees Ugo", "Il gatto vede Ugo"), ("the dog", "il cane"), ("a dog, Ugo", "un dog, ugo")]
    pairs = [(SOURCE.encode(source).ids, TARGET.encode(target).ids) for source, target in texts]
    experience = collect_experience(write_corpus(tmp_path, pairs), SOURCE, TARGET)
    assert experience.translated == frozenset({"the", "cat", "sees", "a"}), (
        "the dog was copied once of twice, Ugo always"
    )


def test_a_folder_keeps_it(tmp_path: Path) -> None:
    n = len(TARGET.vocabulary)
    experience = Experience((3, 9), n, np.array([7, 4 * n + 2, n * n - 1]), translated=frozenset(("è", "a")))
    save_model(tmp_path, replace(LOADED, experience=experience))
    found = open_saved(str(tmp_path)).experience
    assert found is not None
    assert (found.longest, found.n_pieces) == ((3, 9), n)
    assert found.joints.tolist() == experience.joints.tolist()
    assert found.translated == experience.translated
    (tmp_path / EXPERIENCE).unlink()
    assert open_saved(str(tmp_path)).experience is None, "a folder of an earlier version has none"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"longest": [], "n_pieces": 3, "joints": []},
        {"longest": [3], "n_pieces": 3, "joints": [-1]},
        {"longest": [3], "n_pieces": 3, "joints": [1.5]},
        {"longest": "3", "n_pieces": 3, "joints": []},
        {"longest": [3], "n_pieces": 3, "joints": []},
        {"longest": [1 << 70], "n_pieces": 3, "joints": []},
        {"longest": [3], "n_pieces": len(TARGET.vocabulary), "joints": [], "translated": ["the"]},
    ],
)
def test_what_is_damaged_or_another_model_s_is_refused(tmp_path: Path, values: dict[str, object]) -> None:
    save_model(tmp_path, LOADED)
    (tmp_path / EXPERIENCE).write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(CheckpointError, match=EXPERIENCE):
        open_saved(str(tmp_path))
