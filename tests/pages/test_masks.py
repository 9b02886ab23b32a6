"""Masks: the batch, its three attentions, and what a mask does to one query."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.pages.app import HOSTILE, each_section, open_app, texts
from tests.pages.figures import array, figure, trace
from tests.support.models import tiny_model
from transformer.analysis.attention_maps import ATTENTION_LABELS, FUTURE, MODULES
from transformer.analysis.masks import masks_of, padding_of
from transformer.checkpoints.opening import open_model
from transformer.model.trace import Trace
from transformer.run import encode_sentence
from transformer.tracing import trace_batch

SENTENCES = ["the cat saw a dog.", "i see.", "yesterday i saw a cat."]


@pytest.fixture(scope="module")
def batch() -> Trace:
    model = tiny_model()
    return trace_batch(model, [encode_sentence(model, "source", text, "sentence") for text in SENTENCES])


def test_padding_is_read_from_the_models_masks(batch: Trace) -> None:
    expected = [[token == "<pad>" for token in sentence] for sentence in batch.src_tokens]
    assert padding_of(batch, "encoder").tolist() == expected
    assert padding_of(batch, "encoder").any()


def test_the_three_masks_fit_together(batch: Trace) -> None:
    for attention, sentence in product(ATTENTION_LABELS, range(len(SENTENCES))):
        masks = masks_of(batch, attention, sentence)
        stack, name = MODULES[attention]
        recorded = batch.attention(stack, 1, name).mask[sentence, 0].numpy()
        padding = masks["padding"][f"padding of sentence {sentence + 1}"]
        causal = masks["causal"][FUTURE]
        np.testing.assert_array_equal(padding | causal, ~recorded)
        assert np.sum(list(masks["combined"].values()), axis=0).max() <= 1
        np.testing.assert_array_equal(np.any(list(masks["combined"].values()), axis=0), ~recorded)
        assert causal.any() == (attention == "decoder")


def test_first_visit_shows_padding_and_future() -> None:
    app = open_app("masks")
    assert not app.exception
    names = {drawn.get("name") for drawn in figure(app, "mask_Combined")["data"]}
    assert f"masked: {FUTURE}" in names
    assert any("padding of sentence 1" in str(name) for name in names)
    assert "transformer/model/masks.py:" in texts(app)
    assert list(each_section(app)) == ["Masks", "One query", "Batch"]


def test_the_softmax_is_the_models_own() -> None:
    lines = ["i like the cats.", "my favourite animal is the raccoon."]
    app = open_app("masks", batch="\n".join(lines), section="One query", layer="1", head="3")
    assert "of this query's attention would go to keys that it must not see" in texts(app)
    app.selectbox(key="query").set_value(1)
    model = open_model("toy-en-it")
    run = trace_batch(model, [encode_sentence(model, "source", line, "sentence") for line in lines])
    for attention, (stack, name) in MODULES.items():
        app.button_group(key="mask_attention").set_value(attention).run()
        assert not app.exception
        record = run.attention(stack, 1, name)
        drawn = array(trace(app, "mask_softmax", "softmax with the mask")["y"])
        np.testing.assert_allclose(drawn, record.weights[0, 3, 1].numpy(), atol=1e-5)
        drawn = array(trace(app, "mask_softmax", "softmax without the mask")["y"])
        np.testing.assert_allclose(drawn, record.scores[0, 3, 1].softmax(-1).numpy(), atol=1e-5)
    app.button_group(key="mask_attention").set_value("encoder")
    app.button_group(key="sentence").set_value(2).run()
    assert "here the mask changes nothing" in texts(app)


def test_a_batch_of_another_size_is_answered_and_in_the_address() -> None:
    app = open_app("masks")
    assert "batch" not in app.query_params
    app.button_group(key="sentence").set_value(3).run()
    app.text_area(key="batch").set_value("i like the cats.").run()
    assert not app.exception
    assert app.button_group(key="sentence").value == 1, "the chosen sentence is gone"
    assert "needs no padding" in app.info[0].value
    app.text_area(key="batch").set_value("a cat.\nthe big dog.").run()
    assert app.query_params["batch"] == "a cat.\nthe big dog."
    for text, answer in (("", "at least one sentence"), ("a cat.\n" * 100, "at most")):
        app.text_area(key="batch").set_value(text).run()
        assert not app.exception
        assert answer in app.warning[0].value
        assert app.text_area(key="batch").value == text


def test_hostile_lines_are_shown_literally() -> None:
    app = open_app("masks", section="Batch")
    lines = [HOSTILE[name] for name in ("script", "bold", "formula", "directive", "remote picture")]
    app.text_area(key="batch").set_value("\n".join(lines)).run()
    assert not app.exception
    assert "<script>" not in texts(app)
    assert "example.com" not in texts(app)
    tokens = [token for row in figure(app, "batch_source")["data"][0]["text"] for token in row]
    assert "&lt;" in "".join(tokens)
    assert "<" not in "".join(tokens)
