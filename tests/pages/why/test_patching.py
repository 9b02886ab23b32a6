"""Why: a patch grid on the page is that of the two runs, and a cell shows both and the patched one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import open_app, press, texts
from tests.pages.figures import array, figure
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from tests.support.renumbered import MASK
from transformer.analysis.interventions.patch_places import Place
from transformer.analysis.interventions.patching import answer_of, patch_grid, run_pair
from transformer.analysis.interventions.questions import with_rival, word_questions
from transformer.checkpoints.folder import open_saved
from transformer.run import run_sentence
from viz.pages.shared.changed_words import marked
from viz.pages.why.asked import COMPARED, TYPED

TEXT, OTHER = "my sister is younger than your brother.", "my brother is younger than your brother."
TIRED = "The animal didn't cross the street because it was too tired."


def test_a_prepared_pair_is_patched_both_ways() -> None:
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, TEXT)
    pair = run_pair(loaded, run, OTHER, word_questions(loaded, run)[0])
    app = open_app("why", text=TEXT, section="Patch", word="0")
    assert not app.exception
    assert app.text_input(key="patch_other").value == OTHER
    for what, place in (
        ("encoder: residual stream", Place("encoder", None, "resid")),
        ("decoder: values of cross-attention", Place("decoder", "cross_attn", "v")),
        ("decoder: heads of cross-attention", Place("decoder", "cross_attn", "z")),
        ("layer 1, position by position", Place("decoder", "cross_attn", "z", 1)),
    ):
        app.selectbox(key="patch_what" if place.layer is None else "patch_layer").set_value(what).run()
        for direction in ("noising", "denoising"):
            app.button_group(key="patch_direction").set_value(direction).run()
            assert not app.exception
            (drawn,) = [one for one in figure(app, "why_patches")["data"] if one["type"] == "heatmap"]
            expected = patch_grid(loaded, pair, place, direction).shares.numpy()
            np.testing.assert_allclose(array(drawn["z"]), expected, atol=1e-4)
            table = app.dataframe[-1].value
            differences = table["logit difference"].to_numpy()
            own, other = differences[:2] if direction == "noising" else differences[1::-1]
            share = (differences[2] - own) / (other - own)
            cell = np.unravel_index(np.abs(expected).argmax(), expected.shape)
            if place.attention is None:  # the exchanged word's column is 1 from the input on: not news
                elsewhere = np.delete(expected, 1, axis=1)
                assert (elsewhere[:2] < 0.5).all()
                assert elsewhere[2].max() == expected[2, 0] >= 0.5
                cell = (2, 0)
                assert "First to reach half, from the input up, apart from the exchanged words" in texts(app)
            assert share == pytest.approx(expected[cell], abs=1e-3)
    app.selectbox(key="patch_what").set_value("encoder: residual stream").run()
    app.button_group(key="patch_direction").set_value("noising").run()
    app.selectbox(key="patch_row").set_value(0).run()
    app.selectbox(key="patch_column").set_value(1).run()
    written = [one.value for one in app.markdown if one.value.startswith("\u2068")]
    before, now = marked(run.translation, run_sentence(loaded, OTHER).translation)
    assert written == [before, now, now], "both outputs, and the patched one, with what differs marked"


def test_a_head_leads_to_its_layer_position_by_position() -> None:
    """The head stays chosen, and its cell is that of the finer grid."""
    app = open_app("why", text=TEXT, section="Patch", word="0")
    app.selectbox(key="patch_what").set_value("encoder: heads of self-attention").run()
    assert app.selectbox(key="patch_row").value == 1
    assert app.selectbox(key="patch_head").value == 2
    app.selectbox(key="patch_head").set_value(3).run()
    press(app, "Patch layer 1, position by position")
    assert app.selectbox(key="patch_layer").value == "layer 1, position by position"
    assert app.selectbox(key="patch_head").value == 3
    assert app.selectbox(key="patch_column").value == 0
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, TEXT)
    pair = run_pair(loaded, run, OTHER, word_questions(loaded, run)[0])
    share = float(patch_grid(loaded, pair, Place("encoder", "self_attn", "z", 1)).shares[3, 0])
    assert f"With layer 1, head 3, position `my` exchanged, the answer goes **{share:.0%}**" in texts(app)
    own, other, patched = app.dataframe[-1].value["logit difference"]
    assert (patched - own) / (other - own) == pytest.approx(share, abs=1e-3)


def test_the_rival_is_named_and_a_typed_one_wins() -> None:
    app = open_app("why", text=TEXT, section="Patch", word="0")
    assert "`mio` is what the other run writes there." in texts(app)
    app = open_app("why", text=TEXT, section="Patch", word="0", versus=COMPARED[TYPED], rival="il")
    assert "`il` is the word that you have typed above." in texts(app)
    app = open_app("why", text=TEXT, section="Patch", word="2")
    assert "`sono` is the next best here, because both runs write `è`." in texts(app)


def test_the_two_words_of_a_share_are_told_from_the_next_best_above() -> None:
    app = open_app("why", model="en-it", text=TIRED, section="Patch")
    above = next(one.value for one in app.text if one.value.startswith("The next best here: "))
    next_best = above.removeprefix("The next best here: ")
    said = texts(app)
    assert "The shares below are about two words, `stanco` and `lunga`" in said
    assert f"It takes the place of the next best above, `{next_best}`" in said
    app = open_app("why", text=TEXT, section="Patch", word="2")
    assert "takes the place of the next best" not in texts(app)


def test_a_word_that_is_neither_of_the_two_is_shown_with_its_probability() -> None:
    """Asked about a rival that no run writes, each run of the table that writes a third word is named."""
    asked = {"versus": COMPARED[TYPED], "rival": "il"}
    app = open_app("why", text=TEXT, section="Patch", word="0", **asked)
    loaded = open_saved("toy-en-it")
    run = run_sentence(loaded, TEXT)
    question = with_rival(loaded, run, word_questions(loaded, run)[0], "il")
    pair = run_pair(loaded, run, OTHER, question)
    found = answer_of(loaded, pair.corrupt, pair.question)
    assert found.best == "mio"
    assert pair.question.label == "mia"
    assert (
        f"In the other sentence, the model writes neither of the two there but `mio`, with a probability of "
        f"**{found.best_probability:.1%}**" in texts(app)
    )
    assert "In this sentence, the model writes neither" not in texts(app)


def test_the_other_sentence_follows_the_sentence() -> None:
    """One typed or linked for a sentence ends with it; the next begins with what is prepared for it."""
    linked = "my mother is younger than your brother."
    app = open_app("why", text=TEXT, section="Patch", word="0", patch_text=linked)
    assert app.text_input(key="patch_other").value == linked
    app.text_input(key="text").set_value("what is your favourite colour?").run()
    assert app.text_input(key="patch_other").value == "what is your favourite house?"
    assert "patch_text" not in app.query_params
    app.text_input(key="patch_other").set_value("what is your favourite city?").run()
    assert app.query_params["patch_text"] == "what is your favourite city?"
    app.button_group(key="section").set_value("Heads").run()
    app.text_input(key="text").set_value(TEXT).run()
    app.button_group(key="section").set_value("Patch").run()
    assert app.text_input(key="patch_other").value == OTHER


def test_an_exchange_is_prepared_only_for_a_model_in_which_it_fits() -> None:
    """The two nouns are one token each in one vocabulary, and of unequal length in the other."""
    text = "there is a nurse in the hospital."
    for model, prepared in (("toy-en-it", "there is a doctor in the hospital."), ("en-it", "")):
        app = open_app("why", model=model, text=text, section="Patch")
        assert app.text_input(key="patch_other").value == prepared
        assert not app.warning


def test_a_refused_exchange_offers_those_that_fit() -> None:
    """Of "wide", of two tokens, and "long", of one, only the latter is offered for "tired"."""
    wide = TIRED.replace("tired", "wide")
    app = open_app("why", model="en-it", text=TIRED, section="Patch", patch_text=wide)
    shown = "\n".join(text.value for text in app.text)
    assert "has 14 tokens and the other one 15 (▁The |" in shown
    assert "| .. " not in shown
    offered = [one.label for one in app.button if "→" in one.label]
    assert "tired → long" in offered
    assert "tired → wide" not in offered
    press(app, "tired → long")
    assert app.text_input(key="patch_other").value == TIRED.replace("tired", "long")
    assert not app.warning
    assert figure(app, "why_patches")


def test_what_does_not_fit_is_said() -> None:
    app = open_app("why", text="my sister sleeps.", section="Patch")
    assert "Type the sentence above with one word exchanged" in app.info[0].value
    app.text_input(key="patch_other").input("my sister sleeps in the big house.").run()
    assert not app.exception
    shown = "\n".join(text.value for text in app.text)
    assert "tokens and the other one" in shown
    app.text_input(key="patch_other").input("my sister sleeps.").run()
    assert "Both sentences are the same" in "\n".join(text.value for text in app.text)


@pytest.mark.parametrize("kind", ["prompted", "masked"])
def test_other_kinds_can_be_patched(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {kind: KINDS[kind]})
    end = f" a {MASK}" if kind == "masked" else ""
    app = open_app("why", model=kind, text=f"the cat saw{end}", section="Patch", word="0")
    app.text_input(key="patch_other").input(f"the dog saw{end}").run()
    assert not app.exception
    assert figure(app, "why_patches")
    assert "moves the answer" in texts(app)
    assert not any("cross" in option for option in app.selectbox(key="patch_what").options)
