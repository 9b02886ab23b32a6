"""Why, "Came from": the numbers shown are those of the functions named, and every kind says what applies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, figure, trace
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from transformer.analysis.attribution.agreement import Agreement
from transformer.analysis.attribution.pictures import Picture, PictureName, came_from
from transformer.analysis.attribution.source_share import SourceShare, source_share
from transformer.analysis.interventions.questions import against_next_best, last_word, word_questions
from transformer.analysis.ranks import rank_correlation
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence
from viz.figures.numbers import number
from viz.pages.why.came_from import verdict
from viz.pages.why.source_or_prefix import mixed_but_not_needed

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
    said = texts(app)
    assert f"The source explains **{shares.explained:.0%}** of" in said
    words = found.words["encoder"].labels
    first = int(found.effects["encoder"].argmax())
    assert f"`{words[first]}` costs most: when it is replaced by the embedding of `<unk>`" in said
    assert "Already written" not in said, "no word of the prefix costs as much"
    app.button_group(key="knock_out").set_value("masked").run()
    assert not app.exception
    masked = came_from(loaded, run, question, how="masked").effects["encoder"]
    bars = array(trace(app, "why_knock_outs", "fall of the answer (logits)")["y"])
    np.testing.assert_allclose(bars, masked, atol=1e-3)
    said = texts(app)
    rho = number(rank_correlation(masked, found.effects["encoder"]), 2)
    assert f"{rho} for “the unknown word” (`{words[first]}` costs most there" in said
    assert f"`{words[int(masked.argmax())]}` costs most: when it is hidden from every attention" in said


def test_words_already_written_that_cost_more_than_the_source_are_named() -> None:
    loaded = open_model("toy-en-it")
    run = run_sentence(loaded, SENTENCE)
    found = came_from(loaded, run, against_next_best(loaded, run, word_questions(loaded, run)[1]))
    label, cost = found.words["decoder"].labels[1], float(found.effects["decoder"][1])
    assert cost > found.effects["encoder"].max(), "an example: the first word decides the second"
    said = texts(open_app("why", text=SENTENCE, section="Came from", word="1"))
    assert f"Already written, and as costly or more: `{label}` ({number(cost, 2)})." in said


def picture(kendall: float, naopc: float) -> Picture:
    return Picture({}, Agreement(kendall, kendall, (-0.4, 0.4)), naopc)


@pytest.mark.parametrize(
    "kendall, said",
    [
        (0.5, "**gradients** (τ 0.50)."),
        (
            0.1,
            "**gradients** (τ 0.10), within the range of random orders, so on this sentence it tells no",
        ),
        (
            -0.5,
            "**gradients** (τ −0.50), below the range of random orders, so on this sentence it tells",
        ),
    ],
)
def test_the_picture_that_agrees_least_is_compared_with_chance(kendall: float, said: str) -> None:
    pictures: dict[PictureName, Picture] = {"alti": picture(0.6, 0.9), "gradients": picture(kendall, 0.2)}
    assert f"Least like them: {said}" in verdict(pictures, random=0.8)


def test_where_naopc_prefers_another_picture_the_page_says_so() -> None:
    pictures: dict[PictureName, Picture] = {"alti": picture(0.6, 0.7), "norms": picture(0.5, 0.75)}
    said = verdict(pictures, random=0.8)
    assert "by it **norms** is best (0.75, which random orders reach too), not ALTI+ (0.70)" in said
    assert "by it **norms** is best (0.75), not" in verdict(pictures, random=0.6)
    pictures["norms"] = picture(0.5, 0.7)
    assert "NAOPC" not in verdict(pictures, random=0.8)


def test_a_triangle_over_a_bar_of_the_source_is_explained() -> None:
    log_probabilities, gains = np.log([0.9, 0.9, 0.8]), np.array([5.0, 0.0, np.log(1.6)])
    shares = SourceShare(np.array([0.9, 0.3, 0.7]), None, (), log_probabilities, gains)
    said = mixed_but_not_needed(shares, ["cane", "x", "."], "source")
    assert "By ALTI+, `.` is 70% source all the same" in said
    assert "would still be 50%" in said
    shares = SourceShare(np.array([0.9, 0.3, 0.4]), None, (), log_probabilities, gains)
    assert mixed_but_not_needed(shares, ["cane", "x", "."], "source") == "", "the prefix's bars need no word"


@pytest.mark.parametrize("kind", ["masked", "rotary"])
def test_other_kinds_say_what_differs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {kind: KINDS[kind]})
    app = open_app("why", model=kind, text="I saw the dog.", section="Came from")
    assert not app.exception
    said = texts(app)
    assert ("no decoder" if kind == "masked" else "without the prompt") in said
