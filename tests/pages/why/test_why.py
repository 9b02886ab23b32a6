"""Why: a word is asked about, heads are ranked for it, parts are switched off; every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from tests.pages.app import open_app, press, texts
from tests.pages.figures import array, trace
from tests.pages.offered import offer
from tests.pages.views import Views
from tests.support.kinds import KINDS
from transformer.analysis.interventions.corpus import corpus_effects
from transformer.analysis.interventions.edited_model import rewritten
from transformer.analysis.interventions.edits import zero
from transformer.analysis.interventions.heads import (
    ABLATIONS,
    Ablation,
    HeadPlace,
    Switch,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.questions import (
    Question,
    against_next_best,
    last_word,
    word_questions,
)
from transformer.analysis.receipts.receipt import Receipt
from transformer.checkpoints.folder import open_saved
from transformer.run import run_sentence
from viz.figures.numbers import number
from viz.pages.shared.changed_words import differences, marked
from viz.pages.why.effects import MOST_REFERENCES
from viz.pages.why.heads import NAMES, WRITES, name_of
from viz.text_session import examples_of

TEXT = "The black cat sees the small dog."


def test_the_table_has_the_effects_of_the_heads_on_the_word_and_its_rival() -> None:
    app = open_app("why", text=TEXT, ablation="zeros")
    assert not app.exception
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, TEXT)
    words = word_questions(loaded, run)
    word = app.button_group(key="why_word").value
    assert isinstance(word, int)
    question = against_next_best(loaded, run, words[word])
    effects = head_effects(loaded, run, [question], Switch(loaded, "zero"))[:, 0].numpy()
    places = head_places(loaded.model.config)
    shown = app.dataframe[0].value
    assert shown.shape == (len(places), 3 + len(words))
    best = int(effects.argmax())
    assert shown["head"].iloc[0] == str(places[best])
    np.testing.assert_allclose(shown.iloc[:, 1], np.sort(effects)[::-1], atol=1e-4)
    assert "rank correlation" in texts(app)
    kept = array(trace(app, "why_kept", "answer")["y"])
    assert len(kept) == len(places) + 1


@pytest.mark.parametrize("how", ABLATIONS)
def test_the_output_without_a_head_is_of_the_ablation_that_is_chosen(how: Ablation) -> None:
    app = open_app("why", text=TEXT, ablation=NAMES[how], opened_head="cross 1.1")
    assert not app.exception
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, TEXT)
    others = [one for one in examples_of("toy-en-it") if one != TEXT][:MOST_REFERENCES]
    switch = Switch(loaded, how, [run_sentence(loaded, one) for one in others])
    variant, *_draws = switch.off([HeadPlace("cross", 1, 1)])
    written = rewritten(loaded, run, variant).translation
    assert marked(run.translation, written)[1] in [one.value for one in app.markdown]
    assert f"{WRITES[how]} the model writes:" in texts(app)


def test_another_sentence_begins_with_its_own_costliest_head() -> None:
    app = open_app("why", text=TEXT, opened_head="cross 0.1")
    assert "**Cross-attention, layer 0, head 1**: without it" in texts(app)
    app.text_input(key="text").set_value("She eats an apple.").run()
    assert not app.exception
    (first, *_others) = app.dataframe[0].value["head"]
    assert first != "cross 0.1"
    (place,) = (one for one in head_places(open_saved("toy-en-it").model.config) if str(one) == first)
    assert f"**{name_of(place)}**: without it" in texts(app)


def test_a_typed_rival_and_none() -> None:
    app = open_app("why", text=TEXT, versus="rather than another word")
    assert "could have written instead" in app.info[0].value
    assert not app.dataframe
    app.text_input(key="rival").input("gatti").run()
    assert not app.exception
    assert "gatti" in " ".join(app.dataframe[0].value.columns)
    app.button_group(key="versus").set_value("alone").run()
    assert "the log-probability of" in texts(app)


def test_a_head_switched_off_changes_the_translation() -> None:
    app = open_app("why", text=TEXT, section="Switch off")
    assert "Nothing is switched off" in app.info[0].value
    layers = [name for name in app.multiselect(key="why_off_sublayers").options if "cross" in name]
    app.multiselect(key="why_off_sublayers").set_value(layers).run()
    assert not app.exception
    run = run_sentence(loaded := open_saved("toy-en-it"), TEXT)
    paths = [path for path in run.trace if path.endswith("cross_attn.out")]
    edits = {path: edit for one in paths for path, edit in zero().at(one, loaded).items()}
    old, new = run.translation, rewritten(loaded, run, edits).translation
    assert old != new
    assert list(marked(old, new)) == [one.value for one in app.markdown if one.value.startswith("\u2068")], (
        "both outputs, with the words marked that differ"
    )
    assert f"Changed: {differences(old, new)}." in texts(app)
    changes = array(trace(app, "why_switched", "change of log-probability (nats)")["y"])
    assert changes.min() < -1


def test_over_many_sentences_heads_have_intervals() -> None:
    app = open_app("why", text=TEXT, ablation="zeros")
    (button,) = (one for one in app.button if one.key == "why_many")
    assert button.label.startswith("Measure on ")
    app.file_uploader(key="why_file").upload(
        "mine.tsv", b"The cat sees the dog.\tIl gatto vede il cane.\nI see you.\n", "text/plain"
    ).run()
    press(app, "Measure on 2 sentences")
    table = app.dataframe[1].value
    pairs = [("The cat sees the dog.", "Il gatto vede il cane."), ("I see you.", "")]
    loaded = open_saved("toy-en-it")
    effects = corpus_effects(loaded, pairs, Switch(loaded, "zero")).effects.mean(axis=0)
    np.testing.assert_allclose(table["mean"], np.sort(effects)[::-1], atol=1e-5)
    assert (table["from"] <= table["mean"] + 1e-9).all()
    styler = app.dataframe[1].proto.arrow_data.styler
    shown = convert_arrow_bytes_to_pandas_df(styler.display_values)
    assert list(shown["mean"]) == [number(one, 4) for one in table["mean"]], "with the minus of the page"
    assert list(shown["costs in"]) == [f"{one} of 2" for one in table["costs in"]]
    assert "Each head's output was replaced by zeros." in texts(app)
    assert "`headlight why --receipt headlight-why-many.json` computes these numbers again" in texts(app)
    app.button(key="receipt_many").click().run()
    assert not app.exception
    receipt = Receipt.from_json(app.session_state["receipt_many_waiting"].content.decode())
    assert receipt.inquiry.pairs == tuple(pairs)
    np.testing.assert_allclose(receipt.effects, effects, atol=1e-6)
    assert len(receipt.intervals) == len(effects)


def test_a_sentence_that_cant_be_run_is_named() -> None:
    app = open_app("why", text=TEXT, ablation="zeros")
    app.file_uploader(key="why_file").upload("mine.txt", b"The cat.\n" + b"dog " * 300, "text/plain").run()
    press(app, "Measure on 2 sentences")
    assert "Pair 2: " in texts(app)
    assert len(app.dataframe) == 1


def test_a_model_that_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {"reader": KINDS["reader"]})
    assert "no generator" in open_app("why", model="reader", text="the cat saw a dog").info[0].value


def words_of_text() -> list[Question]:
    loaded = open_saved("toy-en-it")
    return word_questions(loaded, run_sentence(loaded, TEXT))


def test_a_word_asked_about_in_explore_s_viewer_is_the_question_of_the_page(views: Views) -> None:
    app = open_app("explore", text=TEXT)
    offered = views.data("viewer")["why"]
    words = words_of_text()
    assert offered["words"] == [[word.label, list(word.rows)] for word in words]
    assert offered["stack"] == "decoder"
    assert words[offered["unchosen"]].label == "cane", "the last word with a letter"
    views.choose(app, "viewer", cell=[1, 2], why=1)
    assert app.title[0].value == "Why this word?"
    assert app.button_group(key="why_word").value == 1


def test_a_forged_word_is_none_or_the_default(views: Views) -> None:
    app = open_app("explore", text=TEXT)
    for forged in ("1", None, [1], 0.5):
        views.choose(app, "viewer", why=forged)
        assert app.title[0].value == "Explore"
    views.choose(app, "viewer", why=10**6)
    assert app.title[0].value == "Why this word?"
    assert app.button_group(key="why_word").value == last_word(words_of_text())


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("kind, stack", [("prompted", "decoder"), ("masked", "encoder"), ("reader", None)])
def test_every_model_that_writes_words_offers_them_on_explore(
    views: Views, kind: str, stack: str | None
) -> None:
    """Of a prompt only what follows it is offered, of a model without words nothing."""
    open_app("explore", model=kind, text="the cat saw a dog")
    offered = views.data("viewer")["why"]
    if stack is None:
        assert offered is None
        return
    run = run_sentence(KINDS[kind](), "the cat saw a dog")
    assert offered["stack"] == stack
    rows = [row for _, rows in offered["words"] for row in rows]
    side = views.data("viewer")["sides"][stack]
    assert rows == [row for row, step in enumerate(side["predicted"]) if step], (
        "each row that chooses a token"
    )
    assert len(rows) == len(run.steps)
