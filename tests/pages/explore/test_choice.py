"""The choice in Explore's viewer: written in the address, remembered, and shared with other pages."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app, texts
from tests.pages.explore.page import TEXT
from tests.pages.figures import named_code
from tests.pages.views import Views
from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES

ADDRESS = {
    "view": "map",
    "attention": "encoder",
    "layer": "0",
    "head": "3",
    "cell": "2,4",
    "measure": "scores",
    "special": "spread",
    "against": "head 1",
    "mass": "75",
    "lines": "0,2",
    "families": "one",
    "locked": "1,3",
    "sort": "entropy",
}
CHOICE = ADDRESS | {"layer": 0, "head": 3, "cell": [2, 4], "mass": 75, "heads": [0, 2], "locked": [1, 3]}
del CHOICE["lines"]


def in_address(app: AppTest, views: Views) -> dict[str, str]:
    """The choice in the address; a value that is left out is the default."""
    first = views_default(views)
    left_out = {name: str(first[name]) for name in ADDRESS if name not in app.query_params}
    return left_out | {name: app.query_params[name] for name in ADDRESS if name in app.query_params}


def told(views: Views) -> dict[str, Any]:
    return {name: value for name, value in views.choice("viewer").items() if name in CHOICE}


def test_at_first_the_head_that_is_easiest_to_read_is_shown_and_the_address_is_empty(views: Views) -> None:
    app = open_app()
    assert views.choice("viewer") == views_default(views)
    assert set(app.query_params) == {"model"}


def test_the_address_restores_what_was_chosen(views: Views) -> None:
    app = open_app(text=TEXT, **ADDRESS)
    assert told(views) == CHOICE
    assert in_address(app, views) == ADDRESS


def test_what_is_chosen_goes_into_the_address_and_the_default_does_not(views: Views) -> None:
    app = open_app(text=TEXT)
    views.choose(app, "viewer", **CHOICE)
    assert told(views) == CHOICE
    assert in_address(app, views) == ADDRESS
    first = views_default(views)
    views.choose(app, "viewer", **{name: first[name] for name in FIRST})
    assert not set(FIRST) & set(app.query_params)
    views.choose(app, "viewer", special="keep", against="", mass=90, heads=None, families="all", sort="layer")
    assert set(app.query_params) == {"model", "text", "locked"}
    views.choose(app, "viewer", locked=None)
    assert set(app.query_params) == {"model", "text"}


@pytest.mark.parametrize(
    "address",
    [
        {"layer": "11", "head": "99", "attention": "Cross-attention", "view": "One head", "by": "Each word"},
        {
            "layer": "-1",
            "head": "x",
            "cell": "1,2,3",
            "mass": "0",
            "lines": "a",
            "sort": "<b>",
            "rows": "\u202e",
            "against": "head 9",
            "measure": "Raw scores",
            "locked": "2,0",
        },
        {"layer": "9" * 5000, "head": "²", "view": "", "special": "HIDE", "mass": "9" * 400, "cell": "99,0"},
    ],
)
def test_an_address_that_makes_no_sense_shows_what_there_is(views: Views, address: dict[str, str]) -> None:
    app = open_app(text=TEXT, **address)
    assert not app.exception
    first = views_default(views)
    last = {"layer": 1, "head": 3} if address["head"] == "99" else {}
    assert views.choice("viewer") == first | last
    assert {name for name in address if name in app.query_params} == {
        name for name, number in last.items() if number != first[name]
    }


FIRST = ("view", "attention", "layer", "head", "cell", "measure")


def views_default(views: Views) -> dict[str, Any]:
    """The choice before the user makes one, for the run that the viewer shows."""
    attention = next(own for own in views.data("viewer")["attentions"] if own["name"] == "cross")
    layer, head = attention["easiest"]
    return {
        "view": "head", "attention": "cross", "layer": layer, "head": head,
        "cell": None, "measure": "weights",
        "by": "token", "rows": "written", "special": "keep", "against": "", "mass": 90, "heads": None,
        "families": "all", "locked": None, "sort": "layer",
    }  # fmt: skip


def test_what_no_viewer_would_send_changes_nothing(views: Views) -> None:
    app = open_app(text=TEXT)
    everything: list[object] = [3, None, [1, 2], {"head": {}}, {"view": 7, "cell": "x"}]
    for junk in everything:
        views.tell(app, "viewer", choose=junk, fetch=junk)
        assert views.choice("viewer") == views_default(views)
        assert views.pieces("viewer") == []


def test_no_answer_has_more_pieces_than_a_browser_asks_for(views: Views) -> None:
    app = open_app(text=TEXT)
    views.fetch(app, "viewer", [f"row:cross:{query}" for query in (0, 1, 2, 3, 4) * 3])
    assert len(views.pieces("viewer")) == 5
    views.fetch(app, "viewer", [f"vectors:cross:{layer}:{head}" for layer in (0, 1) for head in range(4)] * 2)
    assert len(views.pieces("viewer")) == 8


def test_a_cell_that_another_sentence_lacks_is_let_go(views: Views) -> None:
    app = open_app(text=TEXT, cell="3,5")
    assert views.choice("viewer")["cell"] == [3, 5]
    app.text_input(key="text").set_value("raccoon").run()
    assert views.choice("viewer")["cell"] is None
    assert "cell" not in app.query_params


def test_the_code_and_the_words_are_those_of_the_chosen_attention(views: Views) -> None:
    app = open_app(text=TEXT)
    for attention, (stack, module) in MODULES.items():
        views.choose(app, "viewer", attention=attention, layer=0)
        assert f"{stack}.layers.0.{module}" in texts(app)
        assert ATTENTION_LABELS[attention] in texts(app)
    assert "scaled_dot_product_attention" in [name for _, _, name in named_code(app)]


# Together with other pages


def visit(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"viz/pages/{page}/page.py").run()
    assert not app.exception
    return app


def test_layer_and_head_go_along_to_masks_and_back_and_all_else_stays(views: Views) -> None:
    app = open_app(text=TEXT)
    views.choose(app, "viewer", layer=1, head=3, measure="scores", cell=[2, 4])
    visit(app, "masks").button_group(key="section").set_value("One query").run()
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == (1, 3)
    app.selectbox(key="layer").set_value(0)
    app.selectbox(key="head").set_value(2).run()
    visit(app, "explore")
    choice = views.choice("viewer")
    assert [choice[name] for name in ("layer", "head", "measure", "cell")] == [0, 2, "scores", [2, 4]]
    layer = app.query_params["layer"] if views_default(views)["layer"] else "0"
    assert (layer, app.query_params["measure"]) == ("0", "scores")


@pytest.mark.parametrize("cell, column", [([3, 5], "key"), ([5, 3], "query")])
def test_another_sentence_drops_a_cell_that_now_frames_the_sentence(
    views: Views, cell: list[int], column: str
) -> None:
    """What was chosen as a word would point at `<eos>`."""
    app = open_app(text="yesterday i saw a black cat.")
    views.choose(app, "viewer", cell=cell)
    app.text_input(key="text").set_value("yesterday i saw a small cat.").run()
    assert views.choice("viewer")["cell"] == cell, "the same place in a sentence of the same form"
    app.text_input(key="text").set_value("i saw a cat.").run()
    tokens = views.data("viewer")["sides"]["encoder" if column == "key" else "decoder"]
    assert len(tokens["tokens"]) == 6, f"the chosen {column} is the last, <eos>"
    assert views.choice("viewer")["cell"] is None
    assert "cell" not in app.query_params


@pytest.mark.parametrize("page", ["step_by_step", "masks"])
def test_lists_that_nobody_used_choose_no_head(views: Views, page: str) -> None:
    app = open_app(text=TEXT, section="One query")
    first = views_default(views)
    assert (first["layer"], first["head"]) != (0, 0), "what the lists show at first"
    visit(app, page)
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == (0, 0)
    visit(visit(app, "learn"), "explore")
    assert views.choice("viewer") == first
    visit(app, page).selectbox(key="head").set_value(1).run()
    visit(app, "explore")
    assert [views.choice("viewer")[name] for name in ("layer", "head")] == [0, 1]


@pytest.mark.usefixtures("kinds")
def test_layer_and_head_go_along_to_positions(views: Views) -> None:
    app = open_app(model="rotary", text="the cat saw a dog")
    views.choose(app, "viewer", layer=1, head=4)
    visit(app, "positions")
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == (1, 4)


def test_a_list_of_the_page_that_is_left_may_still_hold_its_name_in_the_address(views: Views) -> None:
    """Streamlit then lets no other widget write it, and the page would show an error."""
    app = open_app(text=TEXT)
    other = 1 - views_default(views)["layer"]
    visit(app, "masks").button_group(key="section").set_value("One query").run()
    app.selectbox(key="layer").set_value(other).run()
    visit(app, "explore").run()
    assert views.choice("viewer")["layer"] == other
    assert app.query_params["layer"] == str(other)


def test_the_choice_is_still_there_after_a_visit_to_any_page(views: Views) -> None:
    app = open_app(text=TEXT)
    views.choose(app, "viewer", **CHOICE)
    for page in ("decode", "layer_norm", "training", "explore"):
        visit(app, page)
    assert told(views) == CHOICE


def test_another_model_shows_the_same_as_far_as_it_has_it(views: Views) -> None:
    app = open_app(
        model="random", enc="3", dec="5", heads="8", text=TEXT, target="il gatto", layer="4", head="7"
    )
    assert (views.choice("viewer")["layer"], views.choice("viewer")["head"]) == (4, 7)
    app.radio(key="model").set_value("toy-en-it").run()
    assert not app.exception
    assert (views.choice("viewer")["layer"], views.choice("viewer")["head"]) == (1, 3)
    assert views.array("viewer", "weights:cross/values").shape[:2] == (2, 4)
