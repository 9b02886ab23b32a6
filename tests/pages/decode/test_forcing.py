"""Decode: given words next to the model's own."""

from __future__ import annotations

import re

import numpy as np

from tests.pages.app import open_app, texts
from tests.pages.decode.page import FORCING, RIGHT, SENTENCE, open_decode
from tests.pages.figures import array, trace
from tests.pages.views import Views
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence


def test_the_page_begins_with_words_that_diverge() -> None:
    said = texts(open_app("decode", model=None, section="Teacher forcing"))
    assert "They diverge at step" in said
    assert "They never diverge" not in said


def test_a_typed_reference_diverges_from_the_model_s_own_words() -> None:
    app = open_decode("Teacher forcing")
    assert f"The reference is the example's own translation: {RIGHT}" in texts(app)
    assert "They never diverge" in texts(app)
    reference = "mia sorella è più vecchia di tuo fratello."
    app.text_input(key="target").set_value(reference).run()
    assert not app.exception
    loaded = open_model("toy-en-it")
    forced, free = run_sentence(loaded, SENTENCE, reference), run_sentence(loaded, SENTENCE)
    assert "**They diverge at step 4.**" in texts(app)
    given, own = forced.steps[4], free.steps[4]
    assert re.search(rf"continues with “vecchia” \(.*, number {given.rank:,} of all words\)", texts(app))
    assert f"with “giovane” ({100 * own.probability:.2f} %, number 1 of all words)" in texts(app)
    drawn = trace(app, "forcing_scores", "forced: the reference")
    expected = [np.log(step.probability) for step in forced.steps]
    np.testing.assert_allclose(array(drawn["y"]), expected, atol=1e-3)
    app.text_input(key="target").set_value("gatto " * 500).run()
    assert not app.exception
    assert "at most 127" in app.warning[0].value, "too long a reference is told its limit"


def test_both_runs_are_seen_through_the_same_head(views: Views) -> None:
    app = open_decode("Teacher forcing")
    app.text_input(key="target").set_value("mia sorella è vecchia.").run()
    loaded = open_model("toy-en-it")
    runs = run_sentence(loaded, SENTENCE, "mia sorella è vecchia."), run_sentence(loaded, SENTENCE)
    for key, run in zip(FORCING, runs, strict=True):
        data = views.data(key)
        assert (data["views"], data["grid"], data["detail"]) == (["head"], False, False)
        assert [attn["name"] for attn in data["attentions"]] == ["cross"]
        assert data["sides"]["decoder"]["tokens"] == list(run.trace.tgt_tokens[0])
        for layer in (0, 1):
            weights = run.trace.attention("decoder", layer, "cross_attn").weights[0]
            np.testing.assert_allclose(views.array(key, "weights:cross/values")[layer], weights, atol=1e-5)
    for key in FORCING:
        head = 2 + FORCING.index(key)
        views.choose(app, key, layer=0, head=head, measure="scores")
        assert app.query_params["forcing_head"] == str(head)
        for one in FORCING:
            choice = views.choice(one)
            assert (choice["layer"], choice["head"], choice["measure"]) == (0, head, "scores")
    assert "decoder.layers.0.cross_attn" in texts(app)
    app.text_input(key="target").set_value("mia sorella").run()
    views.choose(app, "forcing_free", cell=[5, 1])
    assert [views.choice(key)["cell"] for key in FORCING] == [None, [5, 1]], "one run lacks that cell"


def test_without_a_reference_the_page_asks_for_one() -> None:
    app = open_app("decode", text="the cat and the dog", section="Teacher forcing")
    assert not app.exception
    assert "Type the correct translation" in app.info[0].value
