"""Guess the bug: a seed draws the patient, nothing names it before the guess, the verdict gives reasons."""

from __future__ import annotations

from itertools import product

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import press, texts
from tests.pages.lab.page import GUESSING, everything, in_address, metrics, opened
from tests.support.crosses import covering
from tests.support.kinds import KINDS
from transformer.checkpoints.opening import open_model
from viz.pages.lab.mistakes import MISTAKES
from viz.pages.lab.mistakes.drawing import drawn, guessable
from viz.pages.lab.mistakes.mistake import Level, Mistake

pytestmark = pytest.mark.usefixtures("kinds")
TOY = open_model("toy-en-it").model.config
VIEWS = ("What it puts out", "Attention", "Where the two part")


def patient(seed: int, level: Level = 1) -> Mistake:
    found = drawn(seed, level, TOY)
    assert found is not None
    return found


def guess(app: AppTest, name: str) -> None:
    next(box for box in app.selectbox if box.label == "Your diagnosis").set_value(name)
    press(app, "That is it")


@pytest.mark.parametrize("level", [1, *(pytest.param(level, marks=pytest.mark.slow) for level in (2, 3))])
def test_nothing_names_the_patient_before_the_guess(level: Level) -> None:
    """Two patients' pages differ in computed numbers, never in a word that belongs to one mistake."""
    for view in VIEWS:
        named = []
        for seed in (0, 1):
            app = opened("toy-en-it", **GUESSING, bug=str(seed), bug_level=str(level), patient=view)
            sent, mistake = everything(app), patient(seed, level)
            assert mistake.name not in sent
            assert mistake.what not in sent
            assert mistake.wrong not in sent
            assert not app.metric
            named.append({own.title: sent.count(own.title) for own in MISTAKES.values()})
        assert named[0] == named[1], "titles are listed, whoever the patient is"
        assert all(named[0][own.title] for own in guessable(TOY))


def test_the_same_seed_is_the_same_patient_and_the_next_is_another() -> None:
    names = [patient(seed).name for seed in range(3)]
    assert [patient(seed).name for seed in range(3)] == names
    n = len([mistake for mistake in guessable(TOY) if mistake.level == 1])
    assert len({patient(seed).name for seed in range(n)}) == n, "all of a level before one comes again"


def test_a_right_guess_is_told_with_the_number_and_where_to_look() -> None:
    app = opened("toy-en-it", **GUESSING, bug="3")
    mistake = patient(3)
    guess(app, mistake.name)
    assert f"✓ Right: {mistake.title}." in texts(app)
    assert "**Where to look.**" in texts(app)
    assert len(metrics(app)) == 2


def test_a_wrong_guess_is_told_what_it_would_have_shown() -> None:
    app = opened("toy-en-it", **GUESSING, bug="3")
    other = next(mistake for mistake in guessable(TOY) if mistake.name != patient(3).name)
    guess(app, other.name)
    assert "✕ Not quite." in texts(app)
    assert f"it is **{patient(3).title}**" in texts(app)
    assert "With your diagnosis another number would stand out" in texts(app)


def test_another_patient_is_not_told_of_until_it_is_guessed() -> None:
    app = opened("toy-en-it", **GUESSING)
    guess(app, patient(0).name)
    assert app.metric
    press(app, "Another")
    assert in_address(app, "bug") == "1"
    assert not app.metric
    assert not any(box.value for box in app.selectbox if box.label == "Your diagnosis")


def test_the_verdict_leads_to_the_mistake() -> None:
    app = opened("toy-en-it", **GUESSING)
    guess(app, patient(0).name)
    press(app, "Open this mistake in the lab")
    app.run()
    assert app.header[0].value == patient(0).title
    assert in_address(app, "mistake") == patient(0).name


@pytest.mark.parametrize("kind, view", covering(product(KINDS, VIEWS)))
def test_every_kind_of_model_has_patients(kind: str, view: str) -> None:
    app = opened(kind, **GUESSING, patient=view)
    mistake = drawn(0, 1, KINDS[kind]().model.config)
    assert mistake is not None
    guess(app, mistake.name)
    assert f"✓ Right: {mistake.title}." in texts(app)
