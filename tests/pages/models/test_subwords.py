"""A model of sub-words on every page: what is shown says so, and attention can be shown by word."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.pages.app import HOSTILE, PAGES, open_app, texts
from tests.pages.figures import figure
from tests.support.models import tiny_subword_model
from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    MEASURE_LABELS,
    Attention,
    attention_maps,
    attention_words,
    by_word,
)
from transformer.checkpoints.folder import MODELS, open_model, save_model
from transformer.run import run_sentence
from viz.pages.explore.word_arithmetic import word_weight_formula
from viz.pages.shared.tokens import source_tokens

NAME = "tiny-sub-words"
TEXT = "The zebra's dog saw 🦝."


@pytest.fixture(autouse=True)
def _shipped(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("models")
    save_model(folder / NAME, tiny_subword_model(4))
    (folder / "toy-en-it").symlink_to(MODELS / "toy-en-it")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    monkeypatch.setattr("transformer.checkpoints.folder.MODELS", folder)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs(page: str) -> None:
    app = open_app(page, model=NAME, text=TEXT, batch=f"{TEXT}\nThe cat.")
    assert not app.exception
    assert not app.warning


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_it(name: str) -> None:
    app = open_app(model=NAME, by="Each word")
    for box in app.text_input:
        box.set_value(HOSTILE[name])
    app.run()
    assert not app.exception


def test_the_picker_says_what_each_model_is() -> None:
    captions = open_app(model=NAME).radio(key="model").proto.captions
    assert any(
        re.search(r"English to Italian by sub-words: whatever you type. \d+,\d+ parameters", c)
        for c in captions
    )
    assert any(re.search(r"by whole words: 1,\d+ and 1,\d+ of them, no others", c) for c in captions)


def test_a_model_that_is_broken_says_so_and_leaves_the_others() -> None:
    app = open_app(model="broken")
    assert not app.exception
    assert "config.json can't be read" in app.error[0].value
    assert "It can't be opened." in app.radio(key="model").proto.captions
    app.radio(key="model").set_value(NAME).run()
    assert not app.exception
    assert not app.error
    assert app.title[0].value == "Explore"


def test_explore_speaks_of_sub_words() -> None:
    app = open_app(model=NAME, text=TEXT, attention=ATTENTION_LABELS["encoder"])
    shown = texts(app)
    assert "the most probable sub-word at each step" in shown
    assert "Each source sub-word looks at all source sub-words" in shown
    assert "source word" not in shown


def test_a_model_of_words_has_no_sub_words() -> None:
    app = open_app()
    assert "sub-word" not in texts(app)
    assert "by" not in [group.key for group in app.button_group]


def test_a_random_model_may_have_sub_words() -> None:
    app = open_app(model="random", vocabulary=NAME, text=TEXT)
    assert not app.exception
    assert "the most probable sub-word at each step" in texts(app)


def test_every_chip_has_its_piece_and_word() -> None:
    run = run_sentence(open_model(NAME), TEXT)
    chips = source_tokens(run)
    assert [chip.text for chip in chips] == list(run.trace.src_tokens[0])
    assert [chip.word for chip in chips[:-1]] == run.source.word_of
    assert chips[-1].special
    assert not any(chip.unknown for chip in chips)


@pytest.mark.parametrize("attention", ATTENTION_LABELS)
@pytest.mark.parametrize("view", ["One head", "Side by side", "Lines", "Beside random"])
def test_every_view_by_word(attention: Attention, view: str) -> None:
    label = ATTENTION_LABELS[attention]
    app = open_app(model=NAME, text=TEXT, attention=label, view=view, by="Each word")
    assert not app.exception
    assert app.button_group(key="by").value == "word"
    assert "those of a key add up and those of a query are averaged" in texts(app)


def test_scores_are_by_sub_word_only() -> None:
    app = open_app(model=NAME, text=TEXT, by="Each word", measure=MEASURE_LABELS["scores"])
    assert app.button_group(key="by").disabled
    assert r"\text{score}" in texts(app)
    assert "are averaged, so each row" not in texts(app)
    assert "Scores can't be added up, so they are shown for each sub-word." in texts(app)
    app.button_group(key="measure").set_value("weights").run()
    assert not app.button_group(key="by").disabled
    assert "are averaged, so each row" in texts(app)


def test_a_cell_keeps_its_place_between_sub_words_and_words() -> None:
    run = run_sentence(open_model(NAME), TEXT)
    queries, keys = attention_words(run, "encoder")
    app = open_app(model=NAME, text=TEXT, attention=ATTENTION_LABELS["encoder"])
    query, key = queries.tokens(1)[-1], keys.tokens(5)[-1]
    app.session_state["cell"] = f"{query},{key}"
    app.run()
    assert f"query {query}, “{run.source.tokens[query]}”" in texts(app)
    app.button_group(key="by").set_value("word").run()
    assert "query word 1, “zebra” (sub-words" in texts(app)
    assert "looks at key word 5, “🦝” (sub-words" in texts(app)


def test_the_arithmetic_between_words_is_the_weight_of_the_cell() -> None:
    run = run_sentence(open_model(NAME), TEXT)
    queries, keys = attention_words(run, "encoder")
    maps = attention_maps(run.trace, "encoder", "weights")
    weight = by_word(maps, queries, keys).values[1, 2, 1, 5]
    app = open_app(
        model=NAME, text=TEXT, attention=ATTENTION_LABELS["encoder"], by="Each word", layer="1", head="2"
    )
    app.session_state["cell"] = f"{queries.tokens(1)[0]},{keys.tokens(5)[0]}"
    app.run()
    assert f"= {weight:.3f} \\end{{aligned}}" in texts(app)


def test_the_formula_can_be_calculated_again() -> None:
    weights = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    lines = word_weight_formula(weights, 7).split(r"\\")
    numbers = [[float(number) for number in re.findall(r"\d\.\d{3}", line)] for line in lines]
    assert len(lines) == 2 * (3 + 1)
    for i, row in enumerate(weights):
        assert f"from {7 + i}:" in lines[2 * i]
        assert numbers[2 * i] == pytest.approx(row.tolist(), abs=5e-4)
        assert numbers[2 * i + 1] == pytest.approx([sum(numbers[2 * i])], abs=3e-3)
    assert numbers[6] == [numbers[i][0] for i in (1, 3, 5)]
    assert numbers[7] == pytest.approx([sum(numbers[6]) / 3], abs=1e-3)


def test_a_weight_between_single_sub_words_is_itself() -> None:
    assert word_weight_formula(np.array([[0.25]], np.float32), 3) == (
        r"\begin{aligned} \text{from 3: } & 0.250 \end{aligned}"
    )


def test_a_formula_of_many_sub_words_is_shortened() -> None:
    formula = word_weight_formula(np.full((30, 40), 0.01, np.float32), 0)
    assert formula.count("from ") == 4
    assert "from 29:" in formula
    assert formula.count("0.010") == 4 * 4
    assert r"\frac{0.400 + 0.400 + 0.400 + \dots + 0.400}{30}" in formula


def test_positions_are_labelled_by_pieces() -> None:
    app = open_app("positions", model=NAME, text=TEXT)
    assert app.selectbox(key="pe_token").options[:2] == ["0: ▁", "1: T"]
    assert "0 ▁" in str(figure(app, "pe_sizes"))
