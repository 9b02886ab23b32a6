"""Decode: the search, the chosen place in it, and restarting it after any token."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import each_section, open_app, texts
from tests.pages.decode.page import FORCING, RIGHT, open_decode, tree_of
from tests.pages.views import Views
from tests.support.models import tiny_subword_model
from transformer.checkpoints.folder import save_model
from transformer.checkpoints.opening import open_model
from transformer.checkpoints.places import MODELS
from viz.components.beam_tree import AskWhy, Chosen, GoOn
from viz.components.next_tokens import TokenChoice


def test_first_visit_shows_the_whole_search_and_a_chosen_place_is_in_the_address(views: Views) -> None:
    app = open_decode()
    tree = tree_of()
    drawn = views.data("beam_tree")
    assert len(drawn["nodes"]) == len(tree.nodes)
    assert drawn["hypotheses"][0]["text"] == RIGHT
    assert [h["score"] for h in drawn["hypotheses"]] == [h.score for h in tree.hypotheses]
    assert drawn["selected"] == tree.path(tree.leaves[0])[1].index
    end = next(i for i, node in enumerate(drawn["nodes"]) if not node["is_open"])
    views.select(app, "beam_tree", GoOn(end))
    assert "beam_prefix" not in app.query_params, "nothing follows an end"
    views.select(app, "beam_tree", Chosen(5))
    assert app.query_params["beam_node"] == "5"
    assert views.data("beam_tree")["selected"] == 5


def test_why_the_model_wrote_a_node_s_word_is_asked_about_the_branch_through_it(views: Views) -> None:
    tree = tree_of()
    second = tree.path(tree.leaves[1])
    node = next(node for node, best in zip(second, tree.path(tree.leaves[0]), strict=False) if node != best)
    app = open_decode(beam_node=str(node.index))
    word = open_model("toy-en-it").target.token(node.token_id)
    assert views.data("beam_tree")["word"] == word
    views.select(app, "beam_tree", AskWhy(node.index - 1))
    assert app.title[0].value == "Decode", "only about the chosen node"
    views.select(app, "beam_tree", AskWhy(node.index))
    assert app.title[0].value == "Why this word?"
    assert app.session_state["target"] == views.data("beam_tree")["hypotheses"][1]["text"]
    assert app.button_group(key="why_word").value == node.position - 1


def test_the_address_opens_the_search_and_another_search_forgets_the_place(views: Views) -> None:
    app = open_decode(beam_size="2", beam_alpha="0.5", beam_node="9")
    assert app.select_slider(key="beam_size").value == 2
    assert app.slider(key="beam_alpha").value == 0.5
    drawn = views.data("beam_tree")
    assert len(drawn["nodes"]) == len(tree_of(2, 0.5).nodes)
    assert drawn["selected"] == 9
    app.select_slider(key="beam_size").set_value(3).run()
    tree = tree_of(3, 0.5)
    assert views.data("beam_tree")["selected"] == tree.path(tree.leaves[0])[1].index
    assert "beam_node" not in app.query_params


@pytest.mark.parametrize(
    "address",
    [
        {
            "beam_node": "99999",
            "beam_prefix": "a,b,,1,0,2,999999999",
            "beam_size": "77",
            "beam_head": "cross.99.0",
            "beam_layer": "-1",
            "beam_view": "One head",
            "sample_temperature": "0",
            "sample_top_k": "x",
            "sample_top_p": "2",
        },
        {
            "beam_node": "x",
            "beam_alpha": "9",
            "sample_seed": "-3",
            "beam_attention": "encoder",
            "beam_cell": "99,0",
            "beam_measure": "x",
            "forcing_layer": "7",
            "forcing_head": "x",
            "forcing_view": "map",
            "forcing_attention": "decoder",
        },
    ],
)
def test_an_address_that_makes_no_sense_opens_the_page(views: Views, address: dict[str, str]) -> None:
    app = open_decode(**address)
    assert views.data("beam_tree")["hypotheses"][0]["text"] == RIGHT
    assert {*each_section(app)} >= {"Attention", "Next token", "Teacher forcing"}
    shown = [views.choice(key) for key in ("beam_viewer", *FORCING)]
    easiest = [
        next(own["easiest"] for own in views.data(key)["attentions"] if own["name"] == "cross")
        for key in FORCING
    ]
    assert [(choice["attention"], choice["layer"]) for choice in shown[:1]] == [("cross", 1)]
    layers = [1, 1] if "forcing_layer" in address else [layer for layer, _ in easiest]
    assert [choice["layer"] for choice in shown[1:]] == layers, "the last layer there is"
    assert [choice["head"] for choice in shown[1:]] == [head for _, head in easiest]
    assert [choice["view"] for choice in shown] == ["token", "head", "head"]
    assert shown[0]["cell"][0] == len(views.data("beam_viewer")["sides"]["decoder"]["tokens"]) - 1


def test_the_search_begins_again_after_a_pruned_token_and_goes_back(views: Views) -> None:
    app = open_decode()
    tree = tree_of()
    pruned = next(node for node in tree.nodes if node.fate == "pruned" and node.position == 2)
    prefix = tuple(node.token_id for node in tree.path(pruned.index)[1:])
    views.select(app, "beam_tree", GoOn(pruned.index))
    assert not app.exception
    assert app.query_params["beam_prefix"] == ",".join(map(str, prefix))
    again = tree_of(prefix=prefix)
    drawn = views.data("beam_tree")
    assert [node["probability"] for node in drawn["nodes"]] == pytest.approx(
        [np.exp(node.log_probability) for node in again.nodes]
    )
    assert drawn["given"] == 3
    begin = open_model("toy-en-it").target.decode(prefix)
    assert f"The search starts after: {begin}" in texts(app)
    app.button(key="beam_back").click().run()
    assert len(views.data("beam_tree")["nodes"]) == len(tree.nodes)
    assert "beam_prefix" not in app.query_params


def test_back_goes_one_restart_at_a_time_and_the_beginning_all_the_way(views: Views) -> None:
    app = open_decode()
    for depth in (1, 2, 3):
        nodes = views.data("beam_tree")["nodes"]
        chosen = next(i for i, node in enumerate(nodes) if node["depth"] == depth and node["is_open"])
        views.select(app, "beam_tree", GoOn(chosen))
    assert app.query_params["beam_prefix"].count(",") == 2
    app.button(key="beam_back").click().run()
    assert app.query_params["beam_prefix"].count(",") == 1
    app.button(key="beam_anew").click().run()
    assert "beam_prefix" not in app.query_params


def test_a_linked_prefix_is_searched_after_and_another_sentence_forgets_it(views: Views) -> None:
    target = open_model("toy-en-it").target
    prefix = target.encode("tuo fratello").ids
    app = open_decode(beam_prefix=",".join(map(str, prefix)))
    assert "The search starts after: tuo fratello" in texts(app)
    assert all(h["text"].startswith("tuo fratello") for h in views.data("beam_tree")["hypotheses"])
    app.text_input(key="text").set_value("i saw it yesterday.").run()
    assert not app.exception
    assert "The search starts after" not in texts(app)
    assert views.data("beam_tree")["hypotheses"][0]["text"] == "l'ho visto ieri."


# Other sentences and models


def test_a_sentence_without_words_is_asked_for() -> None:
    app = open_app("decode", text=" ")
    assert "has no words" in app.warning[0].value


def test_the_longest_sentence_is_searched() -> None:
    app = open_app("decode", text="the cat " * 63, beam_size="8")
    assert not app.exception
    assert not app.warning


@pytest.mark.parametrize("heads", [pytest.param("1", marks=pytest.mark.full), "16"])
def test_random_models_are_searched_too(views: Views, heads: str) -> None:
    app = open_decode(model="random", enc="1", dec="3", heads=heads, beam_attention="decoder", beam_head="15")
    app.button_group(key="section").set_value("Attention").run()
    assert not app.exception
    choice = views.choice("beam_viewer")
    assert [choice[name] for name in ("attention", "layer", "head")] == ["decoder", 2, int(heads) - 1]
    assert views.array("beam_viewer", "weights:decoder/values").shape[:2] == (3, int(heads))


def test_sub_words_are_labelled_and_searched_after(
    views: Views, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("models")
    loaded = tiny_subword_model(4)
    save_model(folder / "tiny", loaded)
    (folder / "toy-en-it").symlink_to(MODELS / "toy-en-it")
    monkeypatch.setattr("transformer.checkpoints.places.MODELS", folder)
    app = open_decode(model="tiny", beam_size="3")
    pieces = {loaded.target.token(index) for index in range(len(loaded.target.vocabulary))}
    shown = {node["token"] for node in views.data("beam_tree")["nodes"]}
    assert {token for token in shown if "⟨" not in token} <= pieces | {"␠"}
    assert "is continued with every sub-word" in texts(app)
    app.button_group(key="section").set_value("Next token").run()
    views.select(app, "beam_next", TokenChoice(2))
    assert "The search starts after:" in texts(app)
