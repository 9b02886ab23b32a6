"""Decode: searching with a model's own settings, and switching to the user's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.pages.app import open_app, texts
from tests.pages.decode.page import SENTENCE
from tests.pages.offered import offer
from tests.pages.views import Views
from transformer.checkpoints.opening import open_model
from transformer.loaded import GenerationSettings
from transformer.model_input import USUAL_NO_REPEAT

OWN = GenerationSettings(beam_size=2, length_penalty=0.6, no_repeat_ngram_size=2)


def test_a_models_own_settings_come_first(monkeypatch: pytest.MonkeyPatch, views: Views) -> None:
    offer(monkeypatch.setattr, {"ruled": lambda: replace(open_model("toy-en-it"), settings=OWN)})
    app = open_app("decode", text=SENTENCE, model="ruled")
    assert not app.exception
    assert "2 beams, log-probability / length^0.6, no 2 tokens in a row twice." in texts(app)
    assert len(views.data("beam_tree")["hypotheses"]) == 2
    assert "beam_size" not in [slider.key for slider in app.select_slider]
    app.radio(key="beam_settings").set_value("Yours").run()
    assert not app.exception
    assert app.select_slider(key="beam_size").value == 4
    assert len(views.data("beam_tree")["hypotheses"]) == 4


def test_a_model_without_any_has_no_such_choice() -> None:
    app = open_app("decode", text=SENTENCE, model="toy-en-it")
    assert "beam_settings" not in [radio.key for radio in app.radio]


def test_repeats_are_blocked_as_the_user_chooses_and_a_word_model_begins_without(views: Views) -> None:
    text = "the small black cats do not like the cold water and the cat likes the water."
    app = open_app("decode", text=text, model="toy-en-it")
    assert app.select_slider(key="beam_no_repeat").value == 0
    assert repeats(views)
    app.select_slider(key="beam_no_repeat").set_value(1).run()
    assert not app.exception
    assert not repeats(views)


def test_a_link_keeps_which_repeats_are_blocked(views: Views) -> None:
    app = open_app("decode", text=SENTENCE, model="toy-en-it", beam_no_repeat="1")
    assert app.select_slider(key="beam_no_repeat").value == 1
    assert not repeats(views)
    off = open_app("decode", text=SENTENCE, model="en-it", beam_no_repeat="off")
    assert off.select_slider(key="beam_no_repeat").value == 0
    usual = open_app("decode", text=SENTENCE, model="en-it")
    assert usual.select_slider(key="beam_no_repeat").value == USUAL_NO_REPEAT


def repeats(views: Views) -> bool:
    """True if a hypothesis of the search contains a word twice."""
    found = [hypothesis["text"].split() for hypothesis in views.data("beam_tree")["hypotheses"]]
    return any(len(set(words)) < len(words) for words in found)
