"""Every mistake is shown on every kind of model that it applies to, with its code, number and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import pytest

from tests.pages.app import open_app, press, texts
from tests.pages.lab.page import in_address, metrics, opened
from tests.pages.offered import TEXT
from tests.support.crosses import covering
from tests.support.kinds import KINDS, config_of
from transformer.checkpoints.opening import open_model
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.pages.lab.mistakes import MISTAKES, Broken, Case, Mistake
from viz.pages.lab.number import written
from viz.pages.lab.session import shared_break
from viz.pages.shared.literal_text import escaped

pytestmark = pytest.mark.usefixtures("kinds")
MODELS: dict[str, Callable[[], LoadedModel]] = {
    **KINDS,
    "toy-en-it": lambda: open_model("toy-en-it"),
}
FITTING = [
    (kind, name)
    for kind, make in MODELS.items()
    for name, mistake in MISTAKES.items()
    if not mistake.unfit(config_of(make))
]
UNFIT = {
    name: kind
    for kind, make in KINDS.items()
    for name, mistake in MISTAKES.items()
    if mistake.unfit(config_of(make))
}
"""For each mistake that does not fit every kind, a kind that it does not fit."""


def number_of(loaded: LoadedModel, name: str) -> list[str]:
    """A mistake's number in a model, computed without the page: sound and broken."""
    mistake, case = MISTAKES[name], Case(loaded, run_sentence(loaded, TEXT))
    symptom = mistake.symptom(case, mistake.broken(case))
    return [written(value, symptom.unit) for value in (symptom.sound, symptom.broken)]


@pytest.mark.parametrize("kind, name", covering(FITTING))
def test_a_mistake_is_shown_with_its_number(kind: str, name: str) -> None:
    app = opened(kind, mistake=name)
    mistake = MISTAKES[name]
    assert [header.value for header in app.header] == [mistake.title]
    assert {code.value for code in app.code} >= {mistake.wrong, mistake.right, mistake.find}
    assert metrics(app) == number_of(MODELS[kind](), name)


@pytest.mark.parametrize("name, kind", UNFIT.items())
def test_where_there_is_nothing_to_break_the_page_says_why(name: str, kind: str) -> None:
    app = opened(kind, mistake=name)
    assert not app.metric
    assert escaped(MISTAKES[name].unfit(config_of(MODELS[kind]))) in [info.value for info in app.info]
    assert {code.value for code in app.code} >= {MISTAKES[name].wrong}, "its code is shown all the same"


def test_the_next_mistake_is_one_that_fits_and_the_address_goes_along() -> None:
    app = opened("toy-en-it")
    names = [name for kind, name in FITTING if kind == "toy-en-it"]
    for name in [*names[1:3], *names[:0]]:
        next(button for button in app.button if button.label == "Next mistake").click().run()
        assert not app.exception
        assert app.header[0].value == MISTAKES[name].title
        assert in_address(app, "mistake") == name


def test_an_unknown_mistake_in_the_address_opens_the_first() -> None:
    app = opened("toy-en-it", mistake="<b>")
    assert app.header[0].value == next(iter(MISTAKES.values())).title


def test_a_sentence_without_words_is_refused_in_words() -> None:
    app = open_app("lab", text=" ")
    assert not app.exception
    assert app.warning
    assert "What it puts out" not in texts(app)


def test_a_sentence_that_is_too_long_to_look_at_is_refused_in_words() -> None:
    app = opened("toy-en-it", text="the cat " * 40)
    assert not app.header
    assert any("at most 60 tokens each; this sentence has" in info.value for info in app.info)


def recorded(monkeypatch: pytest.MonkeyPatch, names: Sequence[str]) -> list[str]:
    """The names of the mistakes that are made from now on, of these."""
    made: list[str] = []
    shared_break.clear()
    for name in names:
        mistake = MISTAKES[name]

        def broken(case: Case, mistake: Mistake = mistake) -> Broken:
            made.append(mistake.name)
            return mistake.broken(case)

        monkeypatch.setitem(cast(dict[str, Mistake], MISTAKES), name, replace(mistake, broken=broken))
    return made


def test_a_shipped_model_is_broken_once_for_all_users(monkeypatch: pytest.MonkeyPatch) -> None:
    first = next(name for kind, name in FITTING if kind == "toy-en-it")
    made = recorded(monkeypatch, [first])
    for _ in range(2):
        opened("toy-en-it", mistake=first)
    assert made == [first]


def test_an_opened_one_is_broken_once_for_its_user_and_the_latest_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("viz.pages.lab.session.is_opened", lambda name: True)
    names = [name for kind, name in FITTING if kind == "toy-en-it"][:4]
    made = recorded(monkeypatch, names)
    app = opened("toy-en-it", mistake=names[0])
    app.run()
    assert made == names[:1], "another look computes nothing"
    for _ in names[1:]:
        press(app, "Next mistake")
    assert made == names
    kept = app.session_state["broken in the lab"]
    assert [key[-1] for key in kept] == names[1:]
