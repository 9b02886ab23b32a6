"""A model of sub-words on every page: the page says so, and attention can be shown by word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.pages.app import PAGES, each_section, open_app, texts
from tests.pages.figures import figure
from tests.pages.views import Views
from tests.support.models import tiny_subword_model
from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    attention_maps,
    attention_words,
    by_word,
)
from transformer.checkpoints.folder import save_model
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.places import MODELS
from transformer.run import run_sentence
from viz.figures.labels import visible
from viz.pages.shared.attention_words import BY_WORD
from viz.pages.shared.tokens import source_tokens
from viz.viewer.choice import VIEWS

NAME = "tiny-sub-words"
TEXT = "The zebra's dog saw 🦝."


@pytest.fixture(autouse=True)
def _shipped(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("models")
    save_model(folder / NAME, tiny_subword_model(4))
    (folder / "toy-en-it").symlink_to(MODELS / "toy-en-it")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    monkeypatch.setattr("transformer.checkpoints.places.MODELS", folder)


def test_every_page_runs() -> None:
    for page in PAGES:
        app = open_app(page, model=NAME, text=TEXT, batch=f"{TEXT}\nThe cat.")
        assert not app.exception, page
        for _ in each_section(app):
            assert not app.warning, page


def test_the_picker_says_what_each_model_is() -> None:
    captions = open_app(model=NAME).radio(key="model").proto.captions
    assert any(
        re.search(r"English to Italian by sub-words: whatever you type. \d+,\d+ parameters", c)
        for c in captions
    )
    assert any(re.search(r"by whole words: 1,\d+ and 1,\d+ of them, and no others", c) for c in captions)


def test_a_model_that_is_broken_says_so_and_leaves_the_others() -> None:
    app = open_app(model="broken")
    assert not app.exception
    assert "config.json can't be read" in app.error[0].value
    assert "Can't be opened." in app.radio(key="model").proto.captions
    app.radio(key="model").set_value(NAME).run()
    assert not app.exception
    assert not app.error
    assert app.title[0].value == "Explore"


def test_explore_speaks_of_sub_words(views: Views) -> None:
    for address in ({"model": NAME}, {"model": "random", "vocabulary": NAME}):
        shown = texts(open_app(text=TEXT, attention="encoder", **address))
        assert "the most probable sub-word at each step" in views.data("viewer")["output"]["how"]
        assert "Each source sub-word looks at all source sub-words" in shown
        assert "source word" not in shown


def test_a_model_of_words_has_no_sub_words(views: Views) -> None:
    app = open_app(by="word")
    assert "sub-word" not in texts(app)
    assert views.choice("viewer")["by"] == "token", "which each word is"
    for side in views.data("viewer")["sides"].values():
        assert side["words"] == side["tokens"]


def test_every_chip_has_its_piece_and_word() -> None:
    run = run_sentence(open_model(NAME), TEXT)
    chips = source_tokens(run)
    assert [chip.text for chip in chips] == list(run.trace.src_tokens[0])
    assert [chip.word for chip in chips[:-1]] == run.source.word_of
    assert chips[-1].special
    assert not any(chip.unknown for chip in chips)


def test_every_view_and_attention_by_word(views: Views) -> None:
    app = open_app(model=NAME, text=TEXT, by="word")
    for view, attention in zip(VIEWS, cycle(ATTENTION_LABELS), strict=False):
        views.choose(app, "viewer", view=view, attention=attention)
        choice = views.choice("viewer")
        assert (choice["by"], choice["view"], choice["attention"]) == ("word", view, attention)
        assert BY_WORD in texts(app)


def test_the_viewer_knows_which_word_each_sub_word_is_a_part_of(views: Views) -> None:
    open_app(model=NAME, text=TEXT)
    run = run_sentence(open_model(NAME), TEXT)
    for attention in ("encoder", "decoder"):
        words, _ = attention_words(run, attention)
        side = views.data("viewer")["sides"][attention]
        assert side["words"] == list(map(visible, words.labels))
        assert side["word_of"] == words.word_of.tolist()
        assert len(side["words"]) < len(side["tokens"])
    assert {"zebra", "🦝"} <= set(views.data("viewer")["sides"]["encoder"]["words"])


def test_scores_are_by_sub_word_only(views: Views) -> None:
    """Scores of sub-words can't be added up."""
    app = open_app(model=NAME, text=TEXT, by="word", measure="scores")
    assert views.choice("viewer")["by"] == "token"
    assert BY_WORD not in texts(app)
    views.choose(app, "viewer", measure="weights", by="word")
    assert views.choice("viewer")["by"] == "word"
    assert BY_WORD in texts(app)
    views.choose(app, "viewer", measure="masked")
    assert views.choice("viewer")["by"] == "token"
    assert BY_WORD not in texts(app)


def test_a_cell_keeps_its_place_between_sub_words_and_words(views: Views) -> None:
    """A cell is given in tokens, whether rows and columns are sub-words or words."""
    run = run_sentence(open_model(NAME), TEXT)
    queries, keys = attention_words(run, "encoder")
    cell = [queries.tokens(1)[-1], keys.tokens(5)[-1]]
    app = open_app(model=NAME, text=TEXT, attention="encoder", cell=",".join(map(str, cell)))
    for by in ("word", "token"):
        views.choose(app, "viewer", by=by)
        assert views.choice("viewer")["cell"] == cell
    side = views.data("viewer")["sides"]["encoder"]
    assert [side["words"][side["word_of"][at]] for at in cell] == ["zebra", "🦝"]


@pytest.mark.parametrize("measure", ["weights", "moved"])
def test_what_is_saved_by_word_is_between_words(
    views: Views, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[tuple[str, go.Figure]] = []

    def save_menu(make_figure: Callable[[], go.Figure], *, name: str, key: str) -> None:
        saved.append((name, make_figure()))

    monkeypatch.setattr("viz.pages.explore.attention.save_menu", save_menu)
    app = open_app(
        model=NAME, text=TEXT, by="word", measure=measure, attention="encoder", layer="1", head="2"
    )
    assert not app.exception
    [(name, figure)] = saved
    assert name == f"encoder-attention-{measure}-by-word-layer1-head2"
    run = run_sentence(open_model(NAME), TEXT)
    maps = attention_maps(run.trace, "encoder", "weights")
    if measure == "moved":
        views.fetch(app, "viewer", ["lengths:encoder"])
        lengths = views.array("viewer", "lengths:encoder/values")
        maps = replace(maps, values=maps.values * lengths[:, :, None, :])
    expected = by_word(maps, *attention_words(run, "encoder")).values[1, 2]
    np.testing.assert_allclose(np.array(figure.data[0].z, float), expected, atol=1e-5)


def test_positions_are_labelled_by_pieces() -> None:
    app = open_app("positions", model=NAME, text=TEXT, section="In the sentence")
    assert app.selectbox(key="pe_token").options[:2] == ["0: ▁", "1: T"]
    assert "0 ▁" in str(figure(app, "pe_sizes"))
