"""Confidence: on Decode with its diagram, on Explore as a warning, in Python, or unknown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import headlight
from tests.pages.app import open_app, texts
from tests.pages.figures import array, trace
from tests.pages.offered import offer
from tests.support.models import measured, tiny_subword_model
from transformer.analysis.confidence import Confidence, WordConfidence, run_confidence
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.pages.decode.confidence import MOST_LISTED
from viz.session import ModelChoice, RandomSizes, load_model

TEXT = "I see the dog."


def that_claims(claim: float) -> Callable[[], LoadedModel]:
    return lambda: measured(tiny_subword_model(1), claim)


def opened(monkeypatch: pytest.MonkeyPatch, page: str, constant: float) -> AppTest:
    name = f"claims {constant}"  # opened models are cached by name
    offer(monkeypatch.setattr, {name: that_claims(constant)})
    app = open_app(page, model=name, text=TEXT, section="Confidence")
    assert not app.exception
    return app


def test_a_translation_that_is_probably_right(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "decode", 2.0)
    assert "**About 88% of such translations were right.**" in texts(app)
    assert "Probably wrong" not in texts(app)
    words = trace(app, "confidence_words", "words")
    written = run_sentence(that_claims(2.0)(), TEXT).target.words
    assert array(words["x"]) == pytest.approx([88.08] * len(written), abs=0.01)


def test_words_that_stand_out_come_first_with_what_was_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all words are equally probable; those of pieces that never met are invented."""
    app = opened(monkeypatch, "decode", 2.0)
    run = run_sentence(that_claims(2.0)(), TEXT)
    (listed,) = [one.value for one in app.markdown if "least likely to be right" in one.value]
    found = run_confidence(that_claims(2.0)(), run)
    assert found is not None
    assert listed.count("an invented word") == min(len(found.unusual), MOST_LISTED) > 0
    assert "the model chose between" in listed


def test_only_what_differs_is_unusual() -> None:
    words = [WordConfidence(str(p), p, is_new=False) for p in (0.94, 0.91, 0.7, 0.92, 0.4)]
    assert Confidence(0.8, tuple(words)).unusual == (4, 2)
    assert Confidence(0.8, tuple(words[:2])).unusual == ()


def test_a_short_source_gets_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {"short": that_claims(-0.8)})
    app = open_app("decode", model="short", text="The dog!", section="Confidence")
    assert "Too short for an estimate" in texts(app)
    assert "Probably wrong" not in texts(app)


def test_one_that_is_probably_wrong_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "decode", -0.8)
    warning = "Probably wrong: when the model was this unsure, it was right in about 3 of 10 cases."
    assert warning in [one.value for one in app.warning]
    explored = opened(monkeypatch, "explore", -0.8)
    assert f"{warning} Decode shows which words, under Confidence." in [one.value for one in explored.warning]
    assert not opened(monkeypatch, "explore", 2.0).warning


def test_random_weights_get_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were never measured, whatever is known of the model whose vocabulary they use."""
    offer(monkeypatch.setattr, {"rarely right": that_claims(-0.8)})
    sizes = RandomSizes(encoder_layers=1, decoder_layers=1, n_heads=3, d_model=30, seed=0)
    loaded = load_model(ModelChoice("rarely right", sizes, "cpu"))
    assert run_confidence(loaded, run_sentence(loaded, TEXT)) is None
    sound = that_claims(-0.8)()
    assert run_confidence(sound, run_sentence(sound, TEXT)) is not None


def test_the_reliability_diagram_has_the_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "decode", 2.0)
    for name in ("translations", "words"):
        drawn = trace(app, "confidence_reliability", name)
        assert array(drawn["x"]) == pytest.approx([20, 90])
        assert array(drawn["y"]) == pytest.approx([25, 85])
    assert "100 translations of the validation sentences: 61% right." in texts(app)
    assert "differ by 5.0% on average (expected calibration error); Brier score 0.120." in texts(app)


def test_words_of_pieces_that_never_met_are_new() -> None:
    """This model has seen no pieces together, so each word of several pieces is new."""
    run = headlight.run(that_claims(2.0)(), TEXT)
    assert run.confidence is not None
    pieces = [run.computed.target.word_of.count(number) for number in range(len(run.confidence.words))]
    assert [word.is_new for word in run.confidence.words] == [count > 1 for count in pieces]
    assert any(word.is_new for word in run.confidence.words)


def test_a_model_that_was_not_measured_says_so() -> None:
    app = open_app("decode", text="my dog sleeps.", section="Confidence")
    assert not app.exception
    assert "was not measured when it was trained" in texts(app)
    assert headlight.run(headlight.open("toy-en-it"), "my dog sleeps.").confidence is None
