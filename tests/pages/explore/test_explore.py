"""Explore: sentence in, translation out, every attention; the address stores the state."""

from __future__ import annotations

import pytest
import torch

from tests.pages.app import open_app, texts
from tests.pages.views import Views
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.places import default_model, shipped_models
from transformer.run import run_sentence
from viz.pages.shared.attention_words import ROWS
from viz.text_session import DEFAULT_SENTENCE, EXAMPLES, examples_of, first_sentence


def test_first_visit_shows_a_translation(views: Views) -> None:
    app = open_app(model=None)
    assert not app.exception
    assert app.title[0].value == "Explore"
    assert app.radio(key="model").value == default_model()
    expected = run_sentence(open_model(default_model()), DEFAULT_SENTENCE).translation
    assert views.output() == expected


def test_a_typed_sentence_is_translated_and_in_the_address(views: Views) -> None:
    app = open_app()
    known = first_sentence("toy-en-it")
    assert views.output() == run_sentence(open_model("toy-en-it"), known).translation
    assert "text" not in app.query_params, "the default stays out of it"
    app.text_input(key="text").set_value("yesterday i saw a raccoon.").run()
    assert not app.exception
    assert views.output() == "ieri ho visto un procione."
    assert app.query_params["text"] == "yesterday i saw a raccoon."
    chosen = list(examples_of("toy-en-it"))[1]
    app.button_group(key="example").set_value(chosen).run()
    assert app.text_input(key="text").value == chosen, "an example is one click away"
    assert views.output() == run_sentence(open_model("toy-en-it"), chosen).translation


def test_an_untouched_box_has_a_sentence_that_the_model_knows_and_a_touched_one_keeps_its_own() -> None:
    app = open_app(model=None)
    assert app.text_input(key="text").value == DEFAULT_SENTENCE
    app.radio(key="model").set_value("toy-en-it").run()
    assert app.text_input(key="text").value == first_sentence("toy-en-it")
    app.radio(key="model").set_value("en-it").run()
    assert app.text_input(key="text").value == DEFAULT_SENTENCE
    assert "text" not in app.query_params
    assert open_app(text=DEFAULT_SENTENCE).text_input(key="text").value == DEFAULT_SENTENCE, (
        "a link's own text"
    )
    app.text_input(key="text").set_value("I like the cats.").run()
    app.radio(key="model").set_value("toy-en-it").run()
    assert app.text_input(key="text").value == "I like the cats."


def test_another_sentence_is_shown_in_the_head_of_the_first_until_another_is_chosen(views: Views) -> None:
    """So that of two sentences only the words differ."""
    first, second = list(examples_of("toy-en-it"))[:2]
    alone = open_app(text=second)
    easiest = views.choice("viewer")
    assert "head" not in alone.query_params
    app = open_app(text=first)
    shown = views.choice("viewer")
    assert (shown["layer"], shown["head"]) != (easiest["layer"], easiest["head"]), "or the test can't fail"
    app.text_input(key="text").set_value(second).run()
    now = views.choice("viewer")
    assert (now["layer"], now["head"]) == (shown["layer"], shown["head"])
    address = {name: value[0] for name, value in app.query_params.items()}
    open_app(**address)
    now = views.choice("viewer")
    assert (now["layer"], now["head"]) == (shown["layer"], shown["head"]), "a link opens the sender's head"


def plain(text: str) -> str:
    """Without the marks that isolate the direction of a word."""
    return text.replace("\u2068", "").replace("\u2069", "")


def test_a_similar_sentence_says_what_changed() -> None:
    app = open_app(text="yesterday i saw a raccoon.")
    assert "Changed since" not in texts(app)
    app.text_input(key="text").set_value("yesterday i saw a cat.").run()
    changed = "Changed since the last sentence: “raccoon” → “cat”. In the translation: “procione” → “gatto”."
    assert changed in plain(texts(app))
    app.run()
    assert changed in plain(texts(app)), "as long as this sentence is shown"
    app.text_input(key="text").set_value("yesterday i saw a cat").run()
    app.text_input(key="text").set_value("Yesterday i saw a cat").run()
    assert "In the translation nothing changed." in texts(app)
    app.text_input(key="text").set_value("the house is red.").run()
    assert "Changed since" not in texts(app), "nothing to compare"


@pytest.mark.parametrize("attention", ["cross", "decoder"])
def test_the_words_below_are_about_the_rows_as_they_are_named(attention: str) -> None:
    """A row of the token written is another one than that of the token read."""
    for rows, other in (("written", "read"), ("read", "written")):
        shown = texts(open_app(attention=attention, rows=rows))
        assert ROWS[rows].format(unit="word") in shown
        assert ROWS[other].format(unit="word") not in shown


@pytest.mark.parametrize("model", shipped_models())
def test_a_model_translates_every_example_of_its_own_right(model: str) -> None:
    loaded = open_model(model)
    rows = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    own = [row for row in rows if row[0] == model]
    assert len(own) >= 6
    assert all(shows.replace(" ", "").isalpha() for _, shows, *_ in own), "each says what it shows"
    for _, _, source, *right in own:
        assert run_sentence(loaded, source).translation in right
    app = open_app(model=model)
    pills = app.button_group(key="example")
    assert len(pills.options) == 4, "three, and more"
    pills.set_value(pills.options[-1]).run()
    shown = app.button_group(key="example").options
    for option, (_, shows, *_) in zip(shown, own, strict=False):
        assert option.startswith(f":gray[{shows}:] ")
    assert all(len(option) < 80 for option in shown), "a long sentence shows its end"
    assert len(shown) == len(own) + 1
    app.button_group(key="example").set_value(shown[-1]).run()
    assert len(app.button_group(key="example").options) == 4


def test_it_says_where_a_name_went_before_the_most_probable_sub_word() -> None:
    text = "My friend Quauhtlehuanitzin lives in Krakow."
    run = run_sentence(open_model("en-it"), text)
    assert "Quauhtlehuanitzin" in run.translation
    *most, last = [str(step.position) for step in run.steps if step.top_ids[0] in step.misspelling]
    assert most, "or the test shows nothing"
    said = texts(open_app(model="en-it", text=text))
    assert f"At steps {', '.join(most)} and {last} the most probable sub-word was passed over: it" in said


def test_a_typed_target_is_forced(views: Views) -> None:
    app = open_app()
    app.text_input(key="target").set_value("il mio gatto").run()
    assert not app.exception
    assert "teacher forcing" in views.data("viewer")["output"]["how"]
    assert views.output() == "il mio gatto"


def test_too_long_a_sentence_is_kept_and_told_its_limit() -> None:
    app = open_app()
    long = "the raccoon " * 500
    app.text_input(key="text").set_value(long).run()
    assert not app.exception
    assert "at most 127" in app.warning[0].value
    assert app.text_input(key="text").value == long


def test_the_sentence_follows_to_another_page_and_another_model() -> None:
    app = open_app()
    app.text_input(key="text").set_value("i like the cats.").run()
    app.switch_page("viz/pages/layer_norm/page.py").run()
    app.switch_page("viz/pages/explore/page.py").run()
    assert app.text_input(key="text").value == "i like the cats."
    app.radio(key="model").set_value("random").run()
    assert not app.exception
    assert app.text_input(key="text").value == "i like the cats."


def test_a_random_model_has_the_sizes_and_the_vocabulary_that_are_chosen(views: Views) -> None:
    address = {"vocabulary": "toy-en-it", "enc": "3", "heads": "8", "seed": "5"}
    app = open_app(text="yesterday i saw a raccoon.", model="random", **address)
    assert not app.exception
    assert app.text_input(key="text").value == "yesterday i saw a raccoon."
    assert app.radio(key="model").value == "random"
    assert app.number_input(key="seed").value == 5
    assert app.selectbox(key="vocabulary").options == shipped_models()
    assert "the most probable word at each step" in views.data("viewer")["output"]["how"]
    assert "3 encoder and 2 decoder layers of 8 heads" in texts(app)
    app.selectbox(key="enc").set_value(6)
    app.selectbox(key="dec").set_value(1)
    app.selectbox(key="heads").set_value(16)
    app.selectbox(key="d_model").set_value(32).run()
    assert not app.exception
    assert "6 encoder and 1 decoder layers of 16 heads, d_model 32" in texts(app)


def test_a_device_without_the_memory_is_said_and_another_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr("viz.session._load_shared", full)
    app = open_app()
    assert not app.exception
    assert [error.value for error in app.sidebar.error] == [
        "The memory of cpu is too small for this model. Choose another device or model."
    ]
    assert {"Model", "Device"} <= {choice.label for choice in (*app.radio, *app.selectbox)}
