"""Why, "Came from": the numbers shown are those of the functions named, and every kind says what applies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from transformer.analysis.attribution.pictures import came_from
from transformer.analysis.attribution.source_share import source_share
from transformer.analysis.interventions.questions import against_next_best, last_word, word_questions
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence

SENTENCE = "my sister is younger than your brother."


def test_words_taken_away_pictures_and_shares_are_those_of_the_model() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    questions = word_questions(loaded, run)
    question = against_next_best(loaded, run, questions[last_word(questions)])
    app = open_app("why", text=SENTENCE, section="Came from")
    assert not app.exception
    found = came_from(loaded, run, question)
    bars = array(trace(app, "why_knock_outs", "fall of the answer (logits)")["y"])
    np.testing.assert_allclose(bars, found.effects["encoder"], atol=1e-3)
    (strips,) = [one for one in figure(app, "why_pictures")["data"] if one["type"] == "heatmap"]
    own = [found.effects["encoder"], *(one.by_stack["encoder"] for one in found.pictures.values())]
    largest = np.abs(own).max(axis=1, keepdims=True)
    np.testing.assert_allclose(array(strips["z"]), np.stack(own) / largest, atol=1e-3)
    table = app.dataframe[0].value
    assert [f"{one.naopc:.2f}" for one in found.pictures.values()] == list(table["NAOPC"])[1:]
    shares = source_share(loaded, run, questions)
    assert shares.source is not None
    np.testing.assert_allclose(array(trace(app, "why_share", "source")["y"]), shares.source, atol=1e-4)
    assert f"The source explains **{shares.explained:.0%}** of" in texts(app)
    app.button_group(key="knock_out").set_value("masked").run()
    assert not app.exception
    masked = came_from(loaded, run, question, how="masked").effects["encoder"]
    bars = array(trace(app, "why_knock_outs", "fall of the answer (logits)")["y"])
    np.testing.assert_allclose(bars, masked, atol=1e-3)


@pytest.mark.parametrize("kind", ["masked", "rotary"])
def test_other_kinds_say_what_differs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {kind: KINDS[kind]})
    app = open_app("why", model=kind, text="I saw the dog.", section="Came from")
    assert not app.exception
    said = texts(app)
    assert ("no decoder" if kind == "masked" else "without the prompt") in said
