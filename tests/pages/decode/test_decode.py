"""Decode: the search, its restart after any token, sampling, and given words beside the model's own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app, texts
from tests.pages.figures import array, trace
from tests.pages.views import Views
from tests.support.models import tiny_subword_model
from transformer.checkpoints.folder import MODELS, open_model, save_model
from transformer.decoding.beam_tree import BeamTree
from transformer.run import draw_target, encode_sentence, run_sentence, search
from viz.components.beam_tree import GoOn, Place
from viz.components.head_rows import HeadRow
from viz.components.next_tokens import Reshaping, TokenChoice

SENTENCE = "my sister is younger than your brother."
RIGHT = "mia sorella è più giovane di tuo fratello."


def open_decode(**address: str) -> AppTest:
    app = open_app("decode", text=SENTENCE, **address)
    assert not app.exception
    return app


def tree_of(beam_size: int = 4, alpha: float = 1.0, prefix: tuple[int, ...] = ()) -> BeamTree:
    loaded = open_model("toy-en-it")
    source = encode_sentence(loaded, "source", SENTENCE, "sentence")
    return search(loaded, source, beam_size=beam_size, alpha=alpha, prefix=prefix)


# The search


def test_first_visit_shows_the_whole_search(views: Views) -> None:
    open_decode()
    tree = tree_of()
    drawn = views.data("beam_tree")
    assert len(drawn["nodes"]) == len(tree.nodes)
    assert drawn["hypotheses"][0]["text"] == RIGHT
    assert [h["score"] for h in drawn["hypotheses"]] == [h.score for h in tree.hypotheses]
    assert drawn["step"] == tree.nodes[-1].position
    assert drawn["selected"] == tree.path(tree.leaves[0])[1].index


def test_the_address_opens_the_search_and_the_place_in_it(views: Views) -> None:
    app = open_decode(beam_size="2", beam_alpha="0.5", beam_node="9", beam_step="5")
    assert app.select_slider(key="beam_size").value == 2
    assert app.slider(key="beam_alpha").value == 0.5
    drawn = views.data("beam_tree")
    assert len(drawn["nodes"]) == len(tree_of(2, 0.5).nodes)
    assert (drawn["selected"], drawn["step"]) == (9, 5)


@pytest.mark.parametrize(
    "address",
    [
        {"beam_node": "99999", "beam_step": "-1"},
        {"beam_node": "x", "beam_step": "9" * 40},
        {"beam_prefix": "a,b,,1,0,2,999999999"},
        {"beam_size": "77", "beam_alpha": "9"},
        {"beam_head": "cross.99.0"},
        {"beam_head": "encoder.0.0"},
        {"sample_temperature": "0", "sample_top_k": "x", "sample_top_p": "2"},
        {"sample_seed": "-3"},
        {"forcing_layer": "7", "forcing_head": "x"},
    ],
)
def test_an_address_that_makes_no_sense_opens_the_page(views: Views, address: dict[str, str]) -> None:
    open_decode(**address)
    assert views.data("beam_tree")["hypotheses"][0]["text"] == RIGHT


def test_a_chosen_place_is_in_the_address(views: Views) -> None:
    app = open_decode()
    views.select(app, "beam_tree", Place(5, 7))
    assert (app.query_params["beam_node"], app.query_params["beam_step"]) == ("5", "7")
    assert (views.data("beam_tree")["selected"], views.data("beam_tree")["step"]) == (5, 7)


def test_another_search_forgets_the_place(views: Views) -> None:
    app = open_decode(beam_node="5", beam_step="7")
    app.select_slider(key="beam_size").set_value(3).run()
    assert views.data("beam_tree")["step"] == tree_of(3).nodes[-1].position
    assert "beam_node" not in app.query_params


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
    assert f"The search began after: {begin}" in texts(app)
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


def test_an_end_is_no_place_to_go_on_from(views: Views) -> None:
    app = open_decode()
    end = next(i for i, node in enumerate(views.data("beam_tree")["nodes"]) if not node["is_open"])
    views.select(app, "beam_tree", GoOn(end))
    assert "beam_prefix" not in app.query_params


def test_a_linked_prefix_is_searched_after_and_another_sentence_forgets_it(views: Views) -> None:
    target = open_model("toy-en-it").target
    prefix = target.encode("tuo fratello").ids
    app = open_decode(beam_prefix=",".join(map(str, prefix)))
    assert "The search began after: tuo fratello" in texts(app)
    assert all(h["text"].startswith("tuo fratello") for h in views.data("beam_tree")["hypotheses"])
    app.text_input(key="text").set_value("i saw it yesterday.").run()
    assert not app.exception
    assert "The search began after" not in texts(app)
    assert views.data("beam_tree")["hypotheses"][0]["text"] == "l'ho visto ieri."


# The attention at a step


def test_the_heads_are_those_that_chose_the_token(views: Views) -> None:
    tree = tree_of()
    node = tree.path(tree.leaves[0])[4]
    open_decode(beam_node=str(node.index))
    run = run_sentence(open_model("toy-en-it"), SENTENCE)
    for layer in (0, 1):
        cross = run.trace.attention("decoder", layer, "cross_attn").weights[0, :, 3]
        own = run.trace.attention("decoder", layer, "self_attn").weights[0, :, 3, :4]
        np.testing.assert_allclose(views.array("beam_heads", "weights0")[layer], cross, atol=1e-5)
        np.testing.assert_allclose(views.array("beam_heads", "weights1")[layer], own, atol=1e-5)
    assert views.data("beam_heads")["blocks"][1]["tokens"] == list(run.trace.tgt_tokens[0][:4])


def test_of_a_pruned_branch_the_heads_are_its_own(views: Views) -> None:
    tree = tree_of()
    chosen = next(n for n in tree.nodes if n.fate == "pruned" and tree.nodes[n.parent or 0].rank > 1)
    open_decode(beam_node=str(chosen.index))
    loaded = open_model("toy-en-it")
    path = [loaded.target.token(node.token_id) for node in tree.path(chosen.index)[:-1]]
    assert views.data("beam_heads")["blocks"][1]["tokens"] == path


def test_a_chosen_head_is_shown_large_and_opens_on_explore(views: Views) -> None:
    app = open_decode()
    views.select(app, "beam_heads", HeadRow(0, 1, 2))
    assert app.query_params["beam_head"] == "cross.1.2"
    assert "**Cross-attention, layer 1, head 2**" in texts(app)
    assert "decoder.layers.1.cross_attn" in texts(app)
    app.button(key="beam_explore").click().run()
    assert not app.exception
    assert app.title[0].value == "Explore"
    assert app.radio(key="model").value == "toy-en-it"
    assert app.text_input(key="target").value == RIGHT
    assert app.selectbox(key="layer").value == 1
    assert app.selectbox(key="head").value == 2
    assert app.button_group(key="attention").value == "cross"


# The next token


def test_the_next_tokens_are_the_model_s_own_sorted(views: Views) -> None:
    open_decode()
    loaded = open_model("toy-en-it")
    logits = run_sentence(loaded, SENTENCE).trace["logits"][0, 0].numpy()
    possible = np.delete(logits, [0, 1])
    np.testing.assert_allclose(views.array("beam_next", "logits"), -np.sort(-possible), atol=1e-5)
    drawn = views.data("beam_next")
    assert drawn["tokens"][0] == "mia"
    assert drawn["chosen"] == 0
    assert "<pad>" not in drawn["tokens"]


def test_the_search_goes_on_with_a_token_of_the_list(views: Views) -> None:
    app = open_decode()
    views.select(app, "beam_next", TokenChoice(3))
    token = views.data("beam_tree")["nodes"][1]["token"]
    assert f"The search began after: {token}" in texts(app)


def test_settings_are_kept_and_draw_the_sentence(views: Views) -> None:
    app = open_decode(sample_seed="3")
    views.select(app, "beam_next", Reshaping(2.0, 50, 0.95))
    address = app.query_params
    settings = [address[f"sample_{name}"] for name in ("temperature", "top_k", "top_p")]
    assert settings == ["2.0", "50", "0.95"]
    loaded = open_model("toy-en-it")
    source = encode_sentence(loaded, "source", SENTENCE, "sentence")
    ids, _ = draw_target(loaded, source, seed=3, temperature=2.0, top_k=50, top_p=0.95)
    assert loaded.target.decode(ids) in [text.value for text in app.text]
    app.button(key="sample_again").click().run()
    assert app.number_input(key="sample_seed").value == 4
    ids, _ = draw_target(loaded, source, seed=4, temperature=2.0, top_k=50, top_p=0.95)
    assert loaded.target.decode(ids) in [text.value for text in app.text]


def test_the_seed_is_given_its_value_in_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit warns, on the server's terminal, of a widget with a default that is also set in the state."""
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    warned: list[str] = []
    monkeypatch.setattr(policies._LOGGER, "warning", lambda _, key, **__: warned.append(key))
    app = open_decode()
    app.button(key="sample_again").click().run()
    assert (app.number_input(key="sample_seed").value, app.query_params["sample_seed"]) == (1, "1")
    assert not warned


# Given words beside the model's own


def test_an_example_brings_its_right_translation() -> None:
    app = open_decode()
    assert f"The example's own translation is taken: {RIGHT}" in texts(app)
    assert "They never part" in texts(app)


def test_a_typed_reference_parts_from_the_model_s_own_words() -> None:
    app = open_decode()
    reference = "mia sorella è più vecchia di tuo fratello."
    app.text_input(key="target").set_value(reference).run()
    assert not app.exception
    loaded = open_model("toy-en-it")
    forced, free = run_sentence(loaded, SENTENCE, reference), run_sentence(loaded, SENTENCE)
    assert "**They part at step 4.**" in texts(app)
    given, own = forced.steps[4], free.steps[4]
    assert re.search(rf"continues with “vecchia” \(.*, number {given.rank:,} of all words\)", texts(app))
    assert f"with “giovane” ({100 * own.probability:.2f} %, number 1 of all words)" in texts(app)
    drawn = trace(app, "forcing_scores", "given: the reference")
    expected = [np.log(step.probability) for step in forced.steps]
    np.testing.assert_allclose(array(drawn["y"]), expected, atol=1e-3)


def test_without_a_reference_the_page_asks_for_one() -> None:
    app = open_app("decode", text="the cat and the dog")
    assert not app.exception
    assert "Type the right translation" in app.info[0].value


def test_a_reference_too_long_is_told_its_limit() -> None:
    app = open_decode()
    app.text_input(key="target").set_value("gatto " * 500).run()
    assert not app.exception
    assert "at most 127" in app.warning[0].value


# Other models


def test_a_sentence_without_words_is_asked_for() -> None:
    app = open_app("decode", text=" ")
    assert "has no words" in app.warning[0].value


def test_the_longest_sentence_is_searched() -> None:
    app = open_app("decode", text="the cat " * 63, beam_size="8")
    assert not app.exception
    assert not app.warning


@pytest.mark.parametrize("heads", ["1", "16"])
def test_random_models_are_searched_too(heads: str) -> None:
    app = open_decode(model="random", enc="1", dec="3", heads=heads, beam_head="decoder.2.0")
    assert "**Decoder self-attention, layer 2, head 0**" in texts(app)


def test_sub_words_are_labelled_and_searched_after(
    views: Views, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("models")
    loaded = tiny_subword_model(4)
    save_model(folder / "tiny", loaded)
    (folder / "toy-en-it").symlink_to(MODELS / "toy-en-it")
    monkeypatch.setattr("transformer.checkpoints.folder.MODELS", folder)
    app = open_decode(model="tiny", beam_size="3")
    pieces = {loaded.target.token(index) for index in range(len(loaded.target.vocabulary))}
    shown = {node["token"] for node in views.data("beam_tree")["nodes"]}
    assert {token for token in shown if "⟨" not in token} <= pieces | {"␠"}
    views.select(app, "beam_next", TokenChoice(2))
    assert not app.exception
    assert "is continued with every sub-word" in texts(app)
