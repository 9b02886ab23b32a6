"""Why: sums and layers on the page are those of the model that runs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from transformer.analysis.interventions.questions import against_next_best, last_word, word_questions
from transformer.analysis.lens import decoder_lens
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence

SENTENCE = "my sister is younger than your brother."


def test_the_bars_sum_to_the_logit_difference_however_they_are_divided() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    questions = word_questions(loaded, run)
    question = against_next_best(loaded, run, questions[last_word(questions)])
    row = run.trace["logits"][0, question.rows[0]]
    expected = float(row[question.ids[0]] - row[question.rival_id])
    app = open_app("why", text=SENTENCE, section="Sums")
    assert not app.exception
    for division in ("sublayer", "head", "word"):
        app.button_group(key="sum_by").set_value(division).run()
        assert array(trace(app, "why_sum", "part of the logit")["x"]).sum() == pytest.approx(
            expected, abs=1e-3
        )
    assert texts(app).count("Difference: below 0.0001") == 2
    app.selectbox(key="sum_of").set_value("layer 1 cross-attention").run()
    assert not app.exception
    labels = figure(app, "why_sum")["layout"]["yaxis"]["ticktext"]
    assert any(label.startswith("source") for label in labels)


def test_the_matrix_sums_to_the_score_that_is_chosen() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    app = open_app("why", text=SENTENCE, section="Sums")
    app.button_group(key="score_attention").set_value("encoder").run()
    for key, value in (("score_layer", 1), ("score_head", 2), ("score_query", 3), ("score_key", 5)):
        app.selectbox(key=key).set_value(value).run()
    assert not app.exception
    (drawn,) = [one for one in figure(app, "why_score")["data"] if one["type"] == "heatmap"]
    expected = float(run.trace["encoder.layers.1.self_attn.scores"][0, 2, 3, 5])
    assert np.nansum(array(drawn["z"])) == pytest.approx(expected, abs=1e-3)


def test_layers_show_where_the_word_appears_and_what_each_encoder_layer_gives() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    app = open_app("why", text=SENTENCE, section="Layers")
    assert not app.exception
    lens, encoder = (element.value for element in app.dataframe)
    assert lens.iloc[-1]["layer"] == "1"
    assert list(encoder["what the decoder writes"]) == [row.text for row in decoder_lens(loaded, run)]


@pytest.mark.parametrize("kind", ["masked", "capped"])
def test_other_kinds_say_what_differs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {kind: KINDS[kind]})
    app = open_app("why", model=kind, text="I saw the dog.", section="Sums")
    assert not app.exception
    assert texts(app).count("Difference: below 0.0001") == 2
    assert {"masked": "an activation", "capped": "before the soft cap"}[kind] in texts(app)
    app = open_app("why", model=kind, text="I saw the dog.", section="Layers")
    assert not app.exception
    assert "which this model doesn't have" in texts(app)
