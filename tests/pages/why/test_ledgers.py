"""Why: sums and layers on the page are those of the model that runs."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from transformer.analysis.interventions.heads import Switch, head_effects, head_places
from transformer.analysis.interventions.questions import against_next_best, last_word, word_questions
from transformer.analysis.lens import decoder_lens, logit_lens
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence
from viz.figures.numbers import number
from viz.pages.why.effects import MOST_REFERENCES
from viz.text_session import examples_of

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


HEAD = ("score_attention", "score_layer", "score_head")


def score_head(app: AppTest) -> tuple[object, ...]:
    """The head whose score is divided."""
    return app.button_group(key=HEAD[0]).value, *(app.selectbox(key=key).value for key in HEAD[1:])


def test_the_score_begins_with_the_head_that_costs_most_until_another_is_opened() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    questions = word_questions(loaded, run)
    reference = [run_sentence(loaded, one) for one in examples_of("toy-en-it") if one != SENTENCE]
    switch = Switch(loaded, "mean", reference[:MOST_REFERENCES])
    last, costliest = last_word(questions), {}
    for place in (0, last):
        question = against_next_best(loaded, run, questions[place])
        effects = head_effects(loaded, run, [question], switch)
        costliest[place] = head_places(loaded.model.config)[int(effects.argmax())]
    assert len({*costliest.values()}) == 2
    app = open_app("why", text=SENTENCE, section="Sums")
    assert score_head(app) == costliest[last]
    assert "This is the head without which the answer falls most." in texts(app)
    app.button_group(key="why_word").set_value(0).run()
    assert score_head(app) == costliest[0]
    app.selectbox(key="score_head").set_value(3 - costliest[0].head).run()
    own = score_head(app)
    app.button_group(key="why_word").set_value(last).run()
    assert score_head(app) == own, "a head chosen here stays"
    assert "This is the head" not in texts(app)
    assert not app.exception


def test_the_score_begins_with_the_head_and_the_cell_opened_on_explore() -> None:
    app = open_app("explore", text=SENTENCE, attention="encoder", layer="1", head="2", cell="3,5")
    app.switch_page("viz/pages/why/page.py").run()
    app.button_group(key="section").set_value("Sums").run()
    assert not app.exception
    assert score_head(app) == ("encoder", 1, 2)
    assert [app.selectbox(key=key).value for key in ("score_query", "score_key")] == [3, 5]
    assert "This is the head that was open last, here or on Explore." in texts(app)


def test_the_score_begins_with_the_head_opened_in_the_table() -> None:
    app = open_app("why", text=SENTENCE, section="Sums", opened_head="decoder 1.3")
    assert score_head(app) == ("decoder", 1, 3)
    address = {"score_attention": "Encoder self-attention", "score_head": "1"}
    linked = open_app("why", text=SENTENCE, section="Sums", **address)
    assert score_head(linked) == ("encoder", 0, 1), "an address says which head"


def test_layers_show_where_the_word_appears_and_what_each_encoder_layer_gives() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    app = open_app("why", text=SENTENCE, section="Layers")
    assert not app.exception
    questions = word_questions(loaded, run)
    question = against_next_best(loaded, run, questions[last_word(questions)])
    lens, encoder = (element.value for element in app.dataframe)
    assert lens.iloc[-1]["layer"] == "1"
    rows = decoder_lens(loaded, run, question)
    assert list(encoder["what the decoder writes"]) == [row.text for row in rows]
    answers = encoder[f"{question.label} minus {question.rival} (logits)"]
    assert list(answers) == [number(row.answer, 2) for row in rows]
    assert question.rival_id is not None
    word, rival = (loaded.target.token(index) for index in (question.ids[0], question.rival_id))
    points = logit_lens(loaded, run, question)
    bars = array(trace(app, "why_lens_difference", "logit difference")["x"])
    np.testing.assert_allclose(bars, np.array([row.difference for row in points], float), atol=1e-3)
    chances = [row.rival.probability for row in points if row.rival]
    np.testing.assert_allclose(lens[f"probability of {rival}"], chances, atol=1e-5)
    ahead = [word if difference > 0 else rival for difference in bars]
    since = points[max((place + 1 for place, one in enumerate(ahead) if one != ahead[-1]), default=0)]
    assert f"the {since.sublayer} of layer **{since.layer}** on, `{ahead[-1]}` is ahead" in texts(app)


def test_layers_of_a_word_alone_have_no_rival() -> None:
    app = open_app("why", text=SENTENCE, section="Layers", versus="alone: its probability")
    assert not app.exception
    lens, encoder = (element.value for element in app.dataframe)
    assert sum(name.startswith("probability of") for name in lens) == 1
    assert any(name.endswith("(nats)") for name in encoder)
    with pytest.raises(KeyError):
        figure(app, "why_lens_difference")


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
