"""A choice is read as written; anything else from a browser becomes a choice that the run allows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from transformer.analysis.attention_maps import Attention, Words
from transformer.analysis.head_ranking import readability
from transformer.loaded import LoadedModel
from transformer.run import run_sentence
from viz.viewer.choice import ADDITIVE, MEASURES, NAMES, SORTS, VIEWS, Choice, default_choice, read_choice
from viz.viewer.sides import SideTokens
from viz.viewer.truncation import truncated
from viz.viewer.viewer_run import AttentionView, ViewerRun, view_run, view_weights


def viewed(loaded: LoadedModel, text: str = "the dog's cats saw .") -> ViewerRun:
    twin = view_run(run_sentence(loaded, text), loaded)
    return view_run(run_sentence(loaded, text), loaded, {"random weights": lambda: twin}, typed=(text, ""))


RUNS = {
    "words": viewed(tiny_model(2)),
    "sub-words": viewed(tiny_subword_model(2)),
    "decoder-only": viewed(KINDS["rotary"](), "the cat"),
    "encoder-only": viewed(KINDS["masked"](), "the cat"),
    "without words": (cut := truncated(viewed(tiny_model(1)), 2, {"decoder": 3, "cross": 6})),
    "weights alone": view_weights({"decoder": [cut.attentions["decoder"].weights(0)]}, {"decoder": "abc"}),
}


@st.composite
def choices(draw: st.DrawFn, run: ViewerRun) -> Choice:
    """Any choice that a run allows."""
    attention = run.attentions[draw(st.sampled_from(list(run.attentions)))]
    n_queries, n_keys = attention.allowed.shape
    measure = draw(st.sampled_from(MEASURES if attention.scores else ["weights"]))
    sides = run.sides[attention.queries], run.sides[attention.keys]
    has_parts = any(side.words and len(side.words.labels) < len(side.tokens) for side in sides)
    heads = range(attention.n_heads)
    return Choice(
        attention=attention.name,
        layer=draw(st.sampled_from(range(attention.n_layers))),
        head=draw(st.sampled_from(heads)),
        view=draw(st.sampled_from(VIEWS)),
        cell=draw(st.none() | st.tuples(st.integers(0, n_queries - 1), st.integers(0, n_keys - 1))),
        measure=measure,
        by=draw(st.sampled_from(["token", "word"] if has_parts and measure in ADDITIVE else ["token"])),
        rows=draw(st.sampled_from(["read", "written"])),
        special=draw(st.sampled_from(["keep", "hide", "spread"])),
        against=draw(st.sampled_from(["", *run.others, *(f"head {head}" for head in heads)])),
        mass=draw(st.integers(1, 100)),
        heads=draw(st.none() | st.lists(st.sampled_from(heads), unique=True).map(tuple)),
        families=draw(st.sampled_from(["one", "all"])),
        locked=draw(st.none() | st.tuples(st.integers(0, 1), st.integers(0, run.longest - 1))),
        sort=draw(st.sampled_from([name for name in SORTS if tells_apart(name, attention, sides)])),
    )


def tells_apart(sort: str, attention: AttentionView, sides: tuple[SideTokens, SideTokens]) -> bool:
    """True if heads can be ordered so: by distance if queries and keys are the same tokens, and so on."""
    known = {
        "cost": attention.costs is not None,
        "distance": sides[0] is sides[1],
        "special": bool(sides[1].special),
    }
    return known.get(sort, True)


@given(data=st.data())
def test_a_choice_is_read_as_it_was_written(data: st.DataObject) -> None:
    run = data.draw(st.sampled_from(list(RUNS.values())))
    choice = data.draw(choices(run))
    assert read_choice(choice.written(), run) == choice, "as an address has it"
    assert read_choice(choice.data(), run) == choice, "as a browser has it"
    assert all(isinstance(text, str) for text in choice.written().values())


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["-1", "99", "0,0", "1,999999999", "9" * 40, "1.5", "²", "cross", "head 99", "none", ",", "0x1"]
    )
    | st.sampled_from([*VIEWS, *MEASURES, *SORTS, "word", "written", "spread", "random weights", "head 1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(run=st.sampled_from(list(RUNS.values())), data=st.data())
def test_junk_becomes_a_choice_of_the_run(run: ViewerRun, data: st.DataObject) -> None:
    values = data.draw(st.dictionaries(st.sampled_from([*NAMES, "else"]), JUNK))
    assert_possible(read_choice(values, run), run)


@given(data=st.data())
def test_a_choice_made_in_one_run_becomes_a_choice_of_another(data: st.DataObject) -> None:
    run, other = (data.draw(st.sampled_from(list(RUNS.values()))) for _ in range(2))
    assert_possible(read_choice(data.draw(choices(other)).data(), run), run)


def assert_possible(choice: Choice, run: ViewerRun) -> None:
    attention = run.attentions[choice.attention]
    assert 0 <= choice.layer < attention.n_layers
    assert 0 <= choice.head < attention.n_heads
    if choice.cell is not None:
        assert all(0 <= at < size for at, size in zip(choice.cell, attention.allowed.shape, strict=True))
    assert all(0 <= head < attention.n_heads for head in choice.heads or ())
    assert 0 < choice.mass <= 100
    assert read_choice(choice.data(), run) == choice


def test_a_browser_s_lists_and_an_address_s_texts_say_the_same() -> None:
    run = RUNS["words"]
    values = {"attention": "cross", "layer": 2, "head": 1, "cell": [3, 4], "heads": [0, 2], "mass": 75}
    written = {"attention": "cross", "layer": "2", "head": "1", "cell": "3,4", "heads": "0,2", "mass": "75"}
    choice = read_choice(values, run)
    assert choice == read_choice(written, run)
    assert (choice.layer, choice.head, choice.cell, choice.heads, choice.mass) == (2, 1, (3, 4), (0, 2), 75)
    assert read_choice({"heads": []}, run).heads == (), "no line at all"
    assert read_choice({"heads": None}, run).heads is None, "every head's"


def test_a_layer_or_head_too_many_is_the_last_one() -> None:
    choice = read_choice({"attention": "encoder", "layer": "11", "head": "99"}, RUNS["words"])
    assert (choice.attention, choice.layer, choice.head) == ("encoder", 1, 2)


@pytest.mark.parametrize(
    "name, attention", [("words", "cross"), ("decoder-only", "decoder"), ("encoder-only", "encoder")]
)
def test_at_first_the_head_that_is_easiest_to_read_is_shown(name: str, attention: Attention) -> None:
    run = RUNS[name]
    view = run.attentions[attention]
    keys = run.sides[view.keys]
    scores = [
        readability(view.weights(layer), (*keys.special, *keys.punctuation)) for layer in range(view.n_layers)
    ]
    first = default_choice(run)
    assert first == Choice(attention, first.layer, first.head)
    assert scores[first.layer][first.head] == np.max(scores)


def test_what_is_not_told_is_as_in_the_first_choice_as_far_as_the_run_allows_it() -> None:
    run = RUNS["without words"]
    first = Choice("cross", 2, view="token", cell=(2, 5))
    assert read_choice({}, run, first) == first
    assert read_choice({"cell": "2,6"}, run, first) == first, "a cell that is none"
    of_decoder = read_choice({"attention": "decoder"}, run, first)
    assert of_decoder == replace(first, attention="decoder", cell=None), "it has no key 5"


def test_what_goes_together_only() -> None:
    by_word = {"attention": "encoder", "by": "word"}
    assert read_choice(by_word, RUNS["sub-words"]).by == "word"
    assert read_choice(by_word | {"measure": "moved"}, RUNS["sub-words"]).by == "word"
    assert read_choice(by_word | {"measure": "scores"}, RUNS["sub-words"]).by == "token", (
        "scores don't add up"
    )
    assert read_choice(by_word, RUNS["words"]).by == "token", "each word is a token"
    assert read_choice({"rows": "read"}, RUNS["words"]).rows == "read"
    assert read_choice({"measure": "masked"}, RUNS["words"]).measure == "masked"
    for measure in ("scores", "masked", "moved"):
        assert read_choice({"measure": measure}, RUNS["weights alone"]).measure == "weights"


def test_a_view_that_is_not_offered_can_not_be_chosen() -> None:
    assert read_choice({"view": "map"}, RUNS["words"]).view == "map"
    assert read_choice({"view": "map"}, RUNS["words"], views=["head"]).view == "head"


CASES = json.loads(Path(__file__).with_name("choices.json").read_text(encoding="utf-8"))
"""What each run makes of a choice; tests/js/choice.test.js reads the same cases for choice.js."""


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_the_nearest_possible_choice_as_the_browser_has_it(case: dict[str, Any]) -> None:
    described = CASES["runs"][case["run"]]
    first = Choice(**described["first"])
    choice = read_choice(case["chosen"], run_of(described), first)
    expected = first.data() | case["chosen"] | case["becomes"]
    assert json.loads(json.dumps(choice.data())) == expected


def run_of(described: dict[str, Any]) -> ViewerRun:
    """A run of the described sizes, whose numbers are never used."""
    sides = {
        name: SideTokens(
            tuple(side["tokens"]),
            tuple(side["special"]),
            Words(tuple(side["words"]), np.array(side["word_of"])) if side["words"] else None,
            tuple(side["written"]),
        )
        for name, side in described["sides"].items()
    }
    attentions = {own["name"]: attention_of(own, sides) for own in described["attentions"]}
    return ViewerRun(sides, attentions, others=dict.fromkeys(described["others"], Mock()))


def attention_of(own: dict[str, Any], sides: dict[Any, SideTokens]) -> AttentionView:
    queries, keys = own["queries"], own["keys"]
    allowed = np.ones((len(sides[queries].tokens), len(sides[keys].tokens)), bool)
    known = dict.fromkeys(own["has"], Mock())
    return AttentionView(
        own["name"], "", queries, keys, own["layers"], own["heads"], allowed, Mock(), **known
    )
