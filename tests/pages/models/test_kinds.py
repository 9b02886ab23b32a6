"""Every page with models of every kind shows what the model has and says what it lacks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from tests.pages.app import PAGES, each_section, open_app, texts
from tests.pages.explore.page import weights_of
from tests.pages.figures import assert_names_its_code, pictures_without_code
from tests.pages.models.page import opened, run_of
from tests.pages.offered import BATCH, TEXT, offer
from tests.pages.views import Views
from tests.support.crosses import full
from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.renumbered import MASK
from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention
from transformer.loaded import LoadedModel
from transformer.model.config import Kind
from transformer.model.trace import Stack
from transformer.run import run_sentence
from viz.pages.shared.attention_words import look_for
from viz.viewer.choice import VIEWS

pytestmark = pytest.mark.usefixtures("kinds")
LANGUAGE = ("adjective", "noun", "language", "gender", "agree")


KINDS_OF_ATTENTION: dict[Kind, list[Attention]] = {
    "encoder-decoder": ["encoder", "decoder", "cross"],
    "decoder-only": ["decoder"],
    "encoder-only": ["encoder"],
}
BOXES = {
    "prompted": ["Prompt", "Continuation (optional)"],
    "masked": ["Sentence"],
    "reader": ["Sentence"],
    "relative": ["Sentence", "Target (optional)"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_runs_and_names_its_code(views: Views, kind: str) -> None:
    app = opened(kind, attention="cross")
    run = run_of(kind)
    assert [box.label for box in app.text_input] == BOXES.get(kind, [box.label for box in app.text_input])
    labels = {attn["name"]: attn["label"] for attn in views.data("viewer")["attentions"]}
    assert list(labels) == KINDS_OF_ATTENTION[KINDS[kind]().model.config.kind]
    alone = dict.fromkeys(labels, "Self-attention")
    assert labels == (alone if len(labels) == 1 else ATTENTION_LABELS)
    assert views.choice("viewer")["attention"] == list(labels)[-1], "the nearest to the address that there is"
    for name in labels:
        values = views.array("viewer", f"weights:{name}/values")
        np.testing.assert_allclose(values, weights_of(run, name), atol=1e-6)
    assert_names_its_code(app)
    for page_name in PAGES[1:]:
        app = opened(kind, page_name, batch=BATCH)
        for _ in each_section(app):
            assert texts(app), page_name
            if page_name in ("positions", "masks", "layer_norm"):
                assert_names_its_code(app)


def one_each(*kinds: str) -> list[object]:
    """These kinds, and the others in the full tier."""
    return [pytest.param(kind, marks=() if kind in kinds else pytest.mark.full) for kind in KINDS]


def numberless(kind: str) -> LoadedModel:
    """A model of this kind with a NaN weight in the last feed-forward, or in each of its experts."""
    loaded = KINDS[kind]()
    weights = loaded.model.state_dict()
    names = [name for name in weights if name.endswith("w_2.weight")]
    for name in names[-(loaded.model.config.n_experts or 1) :]:
        weights[name][0, 0] = torch.nan
    return loaded


def test_a_model_without_norms_is_shown_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {"normless": partial(tiny_model, norm_position="none")})
    for page_name in PAGES:
        app = open_app(page_name, model="normless", batch=BATCH)
        assert not app.exception
        shown = "".join(texts(app) for _ in each_section(app))
        if page_name == "layer_norm":
            assert "This model has no norms" in shown
            assert "no norms around its sublayers" in shown


@pytest.mark.parametrize("kind", one_each("prompted", "masked", "languages"))
def test_a_model_that_gives_no_numbers_is_shown_on_every_page(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"numberless {kind}"
    offer(monkeypatch.setattr, {name: partial(numberless, kind)})
    for page_name in PAGES:
        app = open_app(page_name, model=name, batch=BATCH)
        assert not app.exception
        assert [*each_section(app)]
        if page_name == "explore" and run_sentence(KINDS[kind](), TEXT).steps:
            assert any("are not finite" in warning.value for warning in app.warning)


def test_a_search_and_a_draw_may_run_into_the_last_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """This model has no end token, so its texts run to the limit; the last token chosen is not read."""
    offer(monkeypatch.setattr, {"endless": lambda: replace(KINDS["prompted"](), end_ids=())})
    app = open_app("decode", model="endless", text="the cat saw a dog " * 4, section="Next token")
    assert not app.exception
    assert "Stopped at the model's limit of" in texts(app)
    assert "The distribution of step 0, after the prompt" in texts(app)


def test_every_view_of_the_attention(views: Views) -> None:
    app = opened("relative")
    for view in VIEWS:
        views.choose(app, "viewer", view=view)
        assert views.choice("viewer")["view"] == view
        assert "attention" not in pictures_without_code(app)


# Explore


def test_what_to_look_for_speaks_of_languages_only_where_they_are_known(views: Views) -> None:
    for attention in ATTENTION_LABELS:
        assert not any(word in look_for(attention, "token", into_italian=False) for word in LANGUAGE)
        assert any(word in look_for(attention, "token", into_italian=True) for word in LANGUAGE)
    opened("relative")
    assert views.data("viewer")["look_for"]["cross"] == look_for("cross", "word", into_italian=False)
    open_app()
    assert views.data("viewer")["look_for"]["cross"] == look_for("cross", "word", into_italian=True)


def test_a_prompt_goes_in_and_is_gone_on_with(views: Views) -> None:
    opened("rotary")
    run = run_of("rotary")
    assert [token[0] for token in views.data("source_strip")["tokens"]] == ["<bos>", *run.source.tokens]
    assert [token[2] for token in views.data("source_strip")["tokens"]][:2] == ["special", "word"]
    drawn = views.data("steps")
    assert drawn["start"] == ["<bos>", *run.source.tokens]
    assert drawn["positions"] is None
    assert len(drawn["steps"]) == len(run.steps)
    assert views.output() == run.translation


def test_a_typed_continuation_is_forced(views: Views) -> None:
    app = opened("prompted", target="the dog")
    assert "teacher forcing" in views.data("viewer")["output"]["how"]
    assert [step["word"] for step in views.data("steps")["steps"]] == ["the", "dog"]
    assert "stopped at the most" not in texts(app)


def test_a_masked_word_is_found_in_its_place(views: Views) -> None:
    text = f"Yesterday I {MASK} the dog."
    app = opened("masked", text=text)
    run = run_of("masked", text)
    assert run.translation in [shown.value for shown in app.text]
    assert views.data("steps")["positions"] == [3]
    assert views.data("steps")["taken"] == "chosen"
    special = [token[2] == "special" for token in views.data("source_strip")["tokens"]]
    assert special == [True, *[False] * 6, True]
    opened("masked")
    assert views.data("steps")["positions"] == [1, 2, 3, 4, 5, 6]
    assert views.data("steps")["taken"] == "given"


def test_an_example_masks_a_word() -> None:
    app = opened("masked")
    example = app.button_group(key="example")
    example.set_value(example.options[0]).run()
    assert MASK in str(app.text_input(key="text").value)
    assert not app.exception


def test_a_model_without_generator_says_that_no_words_come_out(views: Views) -> None:
    app = opened("reader")
    assert "this model has no generator" in texts(app)
    assert "30 numbers" in texts(app)
    assert "steps" not in views.frames


# The inputs of one cell's arithmetic


@pytest.mark.parametrize("head", [2, *full(0)])
@pytest.mark.parametrize("kind", ["rotary", "relative", "masked", *full("prompted", "stacks")])
def test_a_score_can_be_calculated_as_the_model_does(views: Views, kind: str, head: int) -> None:
    stack: Stack = "encoder" if kind in ("masked", "relative", "stacks") else "decoder"
    app = opened(kind, layer="1", head=str(head), attention=stack)
    vectors = f"vectors:{stack}:1:{head}"
    views.fetch(app, "viewer", [f"scores:{stack}", vectors])
    found = {name: views.held["viewer"].get(f"{vectors}/{name}") for name in ("q", "k", "bias")}
    q, k, bias = found.values()
    assert q is not None
    assert k is not None
    attn = next(own for own in views.data("viewer")["attentions"] if own["name"] == stack)
    said = views.array("viewer", f"scores:{stack}/values")[1, head]
    calculated = q @ k.T / attn["scale"] + (0 if bias is None else bias)
    np.testing.assert_allclose(calculated, said, atol=1e-4, rtol=1e-4)
    record = run_of(kind).trace.attention(stack, 1, "self_attn")
    np.testing.assert_allclose(said, record.scores[0, head].numpy(), atol=1e-5)
    assert ("√d_head" in attn["formula"]) == (attn["scale"] != 1) == (kind != "relative")
    assert ("+ b" in attn["formula"]) == (bias is not None) == (kind == "relative")


def test_shared_keys_and_turned_queries_are_told(views: Views) -> None:
    app = opened("rotary", head="4")
    (attn,) = views.data("viewer")["attentions"]
    assert (attn["heads"], attn["kv_heads"]) == (6, 2)
    asked = [f"vectors:decoder:1:{head}" for head in (2, 3, 5)]
    views.fetch(app, "viewer", asked)
    other, first, same = (views.array("viewer", f"{name}/k") for name in asked)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other), "heads 3 to 5 share one head of keys and values"
    turned, before = (views.array("viewer", f"{asked[1]}/{name}") for name in ("q", "q_unrotated"))
    np.testing.assert_allclose(turned[0], before[0], atol=1e-6, err_msg="position 0 is not turned")
    assert not np.allclose(turned[3], before[3], atol=1e-3)
    opened("relative", attention="cross")
    assert "+ b" not in next(f for f in views.data("viewer")["attentions"] if f["name"] == "cross")["formula"]
