"""Decode: next-token candidates, and the sentence drawn with the settings chosen there."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.elements.lib import policies

from tests.pages.app import texts
from tests.pages.decode.page import SENTENCE, open_decode
from tests.pages.views import Views
from transformer.checkpoints.opening import open_model
from transformer.run import draw_target, encode_sentence, run_sentence
from viz.components.next_tokens import Reshaping, TokenChoice


def test_the_next_tokens_are_the_model_s_own_sorted(views: Views) -> None:
    open_decode("Next token")
    loaded = open_model("toy-en-it")
    logits = run_sentence(loaded, SENTENCE).trace["logits"][0, 0].numpy()
    possible = np.delete(logits, [0, 1])
    np.testing.assert_allclose(views.array("beam_next", "logits"), -np.sort(-possible), atol=1e-5)
    drawn = views.data("beam_next")
    assert drawn["tokens"][0] == "mia"
    assert drawn["chosen"] == 0
    assert "<pad>" not in drawn["tokens"]


def test_the_search_goes_on_with_a_token_of_the_list(views: Views) -> None:
    app = open_decode("Next token")
    token = views.data("beam_next")["tokens"][3]
    views.select(app, "beam_next", TokenChoice(3))
    assert f"The search starts after: {token}" in texts(app)
    assert f"The distribution of step 1, after “{token}”" in texts(app)


def test_settings_are_kept_and_draw_the_sentence(views: Views) -> None:
    app = open_decode("Next token", sample_seed="3")
    views.select(app, "beam_next", Reshaping(2.0, 50, 0.95))
    address = app.query_params
    settings = [address[f"sample_{name}"] for name in ("temperature", "top_k", "top_p")]
    assert settings == ["2.0", "50", "0.95"]
    loaded = open_model("toy-en-it")
    source = encode_sentence(loaded, "source", SENTENCE, "sentence")
    ids = draw_target(loaded, source, seed=3, temperature=2.0, top_k=50, top_p=0.95).ids
    assert loaded.target.decode(ids) in [text.value for text in app.text]
    app.button(key="sample_again").click().run()
    assert app.number_input(key="sample_seed").value == 4
    ids = draw_target(loaded, source, seed=4, temperature=2.0, top_k=50, top_p=0.95).ids
    assert loaded.target.decode(ids) in [text.value for text in app.text]


def test_the_seed_is_given_its_value_in_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit logs a warning for a widget with a default whose value is also set in the session state."""
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    warned: list[str] = []
    monkeypatch.setattr(policies._LOGGER, "warning", lambda _, key, **__: warned.append(key))
    app = open_decode("Next token")
    app.button(key="sample_again").click().run()
    assert (app.number_input(key="sample_seed").value, app.query_params["sample_seed"]) == (1, "1")
    assert not warned
