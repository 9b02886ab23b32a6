"""What a translation loses without each clause of its source, against separate runs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.support.models import measured, tiny_model
from transformer.analysis import coverage
from transformer.analysis.coverage import clauses, losses, untranslated
from transformer.run import force, run_sentence

TEXT = "the dog saw a cat, yes, i saw the dog. the cat saw a dog"


def words_of(text: str) -> list[str]:
    source = run_sentence(tiny_model(), text).source
    return [" ".join(source.words[place] for place in clause) for clause in clauses(source)]


def test_short_parts_belong_to_their_neighbour() -> None:
    assert words_of(TEXT) == ["the dog saw a cat ,", "yes , i saw the dog .", "the cat saw a dog"]
    assert words_of("the dog saw a cat. yes") == ["the dog saw a cat . yes"]
    assert words_of("yes") == ["yes"]


def test_a_loss_is_the_difference_of_two_forced_runs() -> None:
    loaded = tiny_model()
    run = run_sentence(loaded, TEXT, "il cane vede un gatto")
    whole = sum(math.log(step.probability) for step in run.steps)
    expected = []
    for clause in clauses(run.source):
        kept = [i for i, word in zip(run.source.ids, run.source.word_of, strict=True) if word not in clause]
        without = force(loaded, loaded.source.describe_ids(kept), run.target)
        expected.append(whole - sum(math.log(step.probability) for step in without.steps))
    assert losses(loaded, run) == pytest.approx(expected, abs=1e-4)
    assert len(expected) == 3


def test_only_judged_models_and_their_own_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "losses", lambda *_: [4.0, -0.1, 2.0])
    loaded = measured(tiny_model())
    run = run_sentence(loaded, TEXT)
    assert untranslated(loaded, run) == (loaded.source.decode(run.source.ids[6:13]),)
    assert untranslated(loaded.with_weights(loaded.model), run) == ()
    assert untranslated(loaded, replace(run, generated=False)) == ()
