"""Decode: the attention at a step of the search is that of the chosen branch, up to that step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.app import press, texts
from tests.pages.decode.page import RIGHT, SENTENCE, open_decode, tree_of
from tests.pages.views import Views
from transformer.checkpoints.opening import open_model
from transformer.run import run_sentence
from viz.components.beam_tree import Chosen


def step_tokens(views: Views) -> list[str]:
    tokens: list[str] = views.data("beam_viewer")["sides"]["decoder"]["tokens"]
    return tokens


def test_the_heads_are_those_that_chose_the_token(views: Views) -> None:
    """Every number is the run's, and nothing later is included."""
    tree = tree_of()
    node = tree.path(tree.leaves[0])[4]
    open_decode("Attention", beam_node=str(node.index))
    run = run_sentence(open_model("toy-en-it"), SENTENCE)
    data = views.data("beam_viewer")
    assert [attn["name"] for attn in data["attentions"]] == ["decoder", "cross"]
    assert step_tokens(views) == list(run.trace.tgt_tokens[0][:4])
    assert data["sides"]["decoder"]["written"] == list(run.trace.tgt_tokens[0][1:5])
    assert data["sides"]["encoder"]["tokens"] == list(run.trace.src_tokens[0])
    for layer in (0, 1):
        cross = run.trace.attention("decoder", layer, "cross_attn").weights[0, :, :4]
        own = run.trace.attention("decoder", layer, "self_attn").weights[0, :, :4, :4]
        np.testing.assert_allclose(
            views.array("beam_viewer", "weights:cross/values")[layer], cross, atol=1e-5
        )
        np.testing.assert_allclose(
            views.array("beam_viewer", "weights:decoder/values")[layer], own, atol=1e-5
        )
    choice = views.choice("beam_viewer")
    strongest = run.trace.attention("decoder", 1, "cross_attn").weights[0, 0, 3].argmax()
    assert (choice["view"], choice["cell"]) == ("token", [3, strongest]), "all heads from the newest token"


def test_what_the_viewer_of_a_step_asks_for_ends_at_that_step(views: Views) -> None:
    tree = tree_of()
    app = open_decode("Attention", beam_node=str(tree.path(tree.leaves[0])[4].index))
    trace = run_sentence(open_model("toy-en-it"), SENTENCE).trace
    wanted = ["scores:decoder", "row:cross:3", "vectors:decoder:0:1"]
    views.fetch(app, "beam_viewer", [*wanted, "row:cross:4", "weights:encoder"])
    assert views.pieces("beam_viewer") == wanted
    record = trace.attention("decoder", 0, "self_attn")
    scores = views.array("beam_viewer", "scores:decoder/values")
    np.testing.assert_allclose(scores[0], record.scores[0, :, :4, :4], atol=1e-4)
    for name in ("q", "k", "v", "z"):
        vectors = views.array("beam_viewer", f"vectors:decoder:0:1/{name}")
        np.testing.assert_allclose(vectors, getattr(record, name)[0, 1, :4], atol=1e-4)


def test_of_a_pruned_branch_the_heads_are_its_own(views: Views) -> None:
    tree = tree_of()
    chosen = next(n for n in tree.nodes if n.fate == "pruned" and tree.nodes[n.parent or 0].rank > 1)
    open_decode("Attention", beam_node=str(chosen.index))
    loaded = open_model("toy-en-it")
    path = [loaded.target.token(node.token_id) for node in tree.path(chosen.index)]
    assert step_tokens(views) == path[:-1]
    assert views.data("beam_viewer")["sides"]["decoder"]["written"] == path[1:]


def test_another_place_lets_go_of_the_chosen_cell_and_keeps_the_head(views: Views) -> None:
    app = open_decode("Attention", beam_node="5")
    views.choose(app, "beam_viewer", cell=[0, 2], head=3, measure="scores")
    assert (app.query_params["beam_cell"], app.query_params["beam_head"]) == ("0,2", "3")
    tree = tree_of()
    app.button_group(key="beam_path").set_value(tree.path(5)[1].index).run()
    assert "beam_cell" in app.query_params, "the same step"
    app.button_group(key="section").set_value("Search").run()
    views.select(app, "beam_tree", Chosen(tree.path(tree.leaves[0])[4].index))
    app.button_group(key="section").set_value("Attention").run()
    choice = views.choice("beam_viewer")
    assert (choice["cell"][0], choice["head"], choice["measure"]) == (3, 3, "scores")
    assert "beam_cell" not in app.query_params


def test_a_chosen_head_opens_on_explore(views: Views) -> None:
    app = open_decode("Attention")
    views.choose(app, "beam_viewer", attention="cross", layer=0, head=2, cell=[0, 3], measure="scores")
    assert [app.query_params[f"beam_{name}"] for name in ("layer", "head", "cell")] == ["0", "2", "0,3"]
    assert "decoder.layers.0.cross_attn" in texts(app)
    app.button(key="beam_explore").click().run()
    assert not app.exception
    assert app.title[0].value == "Explore"
    assert app.radio(key="model").value == "toy-en-it"
    assert app.text_input(key="target").value == RIGHT
    choice = views.choice("viewer")
    assert [choice[name] for name in ("attention", "layer", "head", "cell")] == ["cross", 0, 2, [0, 3]]
    assert choice["measure"] == "scores"
    sides = views.data("viewer")["sides"]
    assert len(sides["decoder"]["tokens"]) > 1, "of the whole target"


@pytest.mark.parametrize("section", ["Attention", "Next token"])
def test_why_the_model_wrote_the_word_of_a_step_is_asked_next_to_the_steps(section: str) -> None:
    tree = tree_of()
    node = tree.path(tree.leaves[0])[4]
    app = open_decode(section, beam_node=str(node.index))
    word = open_model("toy-en-it").target.token(node.token_id)
    press(app, f"Why “{word}”?")
    assert app.title[0].value == "Why this word?"
    assert app.text_input(key="target").value == RIGHT
    assert app.button_group(key="why_word").value == 3


def test_what_is_chosen_on_decode_moves_nothing_on_explore(views: Views) -> None:
    app = open_decode("Attention")
    views.choose(app, "beam_viewer", attention="decoder", layer=0, head=2, view="map")
    app.button_group(key="section").set_value("Teacher forcing").run()
    views.choose(app, "forcing_free", layer=0, head=1)
    app.switch_page("viz/pages/explore/page.py").run()
    assert not app.exception
    choice = views.choice("viewer")
    easiest = next(own["easiest"] for own in views.data("viewer")["attentions"] if own["name"] == "cross")
    assert [choice[name] for name in ("attention", "layer", "head", "view")] == ["cross", *easiest, "head"]
    app.switch_page("viz/pages/decode/page.py").run()
    app.button_group(key="section").set_value("Attention").run()
    assert views.choice("beam_viewer")["head"] == 2, "and is still there"
