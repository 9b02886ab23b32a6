"""Positions, masks, norms and decoding with models of every kind show the model's numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.pages.app import each_section, texts
from tests.pages.figures import array, figure, trace
from tests.pages.models.page import NUMBER, formulas, opened, run_of, total
from tests.pages.offered import BATCH, TEXT
from tests.pages.views import Views
from tests.support.crosses import full
from tests.support.kinds import KINDS
from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES, WINDOW
from transformer.analysis.masks import masks_of
from transformer.run import encode_sentence, run_sentence
from transformer.tracing import trace_batch

pytestmark = pytest.mark.usefixtures("kinds")


# Positions


def test_rotary_positions_turn_a_pair_as_written() -> None:
    """The third pair's wavelength of 87 positions is between 50, unchanged, and 400, made 4 times longer."""
    app = opened("rotary", "positions", layer="1", head="5")
    app.selectbox(key="query").set_value(3)
    records = run_of("rotary").trace
    for pair, times in ((0, 1.0), (2, 1.57787), (4, 4.0)):
        app.selectbox(key="rotary_pair").set_value(pair).run()
        (formula,) = [text for text in formulas(app) if "pmatrix" in text]
        vectors = re.findall(rf"pmatrix\}} {NUMBER} \\\\ {NUMBER} ", formula)
        (x, y), (new_x, new_y) = ((float(a), float(b)) for a, b in vectors)
        angle = 3 / 10_000 ** (2 * pair / 14) / times
        assert new_x == pytest.approx(x * np.cos(angle) - y * np.sin(angle), abs=2e-4)
        assert new_y == pytest.approx(x * np.sin(angle) + y * np.cos(angle), abs=2e-4)
        turned = records["decoder.layers.1.self_attn.q"][0, 5, 3, 2 * pair : 2 * pair + 2].numpy()
        np.testing.assert_allclose([new_x, new_y], turned, atol=1e-4)
        turns = array(figure(app, "rotary_angles")["data"][0]["customdata"])
        assert turns[3, pair] * 2 * np.pi == pytest.approx(angle, rel=1e-4)
        assert ("stretch" in formula) == (times != 1)
        drawn = figure(app, "rotary_wavelengths")["data"]
        assert array(drawn[0]["y"])[pair] / array(drawn[1]["y"])[pair] == pytest.approx(times, rel=1e-4)
    assert "400 positions and more are 4 times longer" in texts(app)


def test_turning_changes_no_product_with_the_own_position() -> None:
    app = opened("rotary", "positions", section="Products", layer="0", head="4")
    app.selectbox(key="query").set_value(4).run()
    before, after = (
        array(trace(app, "rotary_products", f"{when} turning")["y"]) for when in ("before", "after")
    )
    records = run_of("rotary").trace
    q, k = (records[f"decoder.layers.0.self_attn.{name}"][0] for name in ("q", "k"))
    np.testing.assert_allclose(after, (k[1] @ q[4, 4])[:5].numpy(), atol=1e-4)
    assert before[4] == pytest.approx(after[4], abs=1e-4)
    assert np.abs(before[:4] - after[:4]).max() > 0.01


def test_a_relative_bias_is_the_one_that_was_added() -> None:
    app = opened("relative", "positions", head="2")
    loaded = KINDS["relative"]()
    table = loaded.model.state_dict()["encoder.relative_bias.weight"]
    recorded = run_sentence(loaded, TEXT).trace["encoder.layers.1.self_attn.position_bias"]
    for distance in (-3, 0, 2):
        app.select_slider(key="bias_distance").set_value(distance).run()
        (formula,) = [text for text in formulas(app) if "bucket" in text]
        found = re.search(rf"bucket \}} (\d+), \\quad b = {NUMBER}", formula)
        assert found is not None
        assert float(found[2]) == pytest.approx(float(table[int(found[1]), 2]), abs=1e-4)
        assert float(found[2]) == pytest.approx(float(recorded[0, 2, 3, 3 + distance]), abs=1e-4)
        line = trace(app, "position_bias", "head 2")
        distances = array(line["x"]).tolist()
        assert distances == list(range(-16, 17))
        assert array(line["y"])[distances.index(distance)] == pytest.approx(float(found[2]), abs=1e-4)
    app.button_group(key="bias_stack").set_value("decoder").run()
    assert max(map(int, app.select_slider(key="bias_distance").options)) == 0
    assert array(trace(app, "position_bias", "head 2")["x"]).tolist() == list(range(-16, 1))


def test_a_linear_bias_is_the_one_that_was_added() -> None:
    app = opened("alibi", "positions", head="1")
    recorded = run_of("alibi").trace["decoder.layers.1.self_attn.position_bias"]
    for distance in (-3, 0, -1):
        app.select_slider(key="bias_distance").set_value(distance).run()
        (formula,) = [text for text in formulas(app) if "m_h" in text]
        found = re.search(rf"\|i - j\| = (\d+), \\quad m_\{{1\}} = {NUMBER}, .*? {NUMBER}", formula)
        assert found is not None
        assert int(found[1]) == -distance
        assert float(found[2]) == pytest.approx(2**-8, abs=1e-4)
        assert float(found[3]) == pytest.approx(float(recorded[0, 1, 3, 3 + distance]), abs=1e-4)
        line = trace(app, "position_bias", "head 1")
        assert array(line["x"]).tolist() == list(range(-40, 1))
        assert array(line["y"])[40 + distance] == pytest.approx(2**-8 * distance, abs=1e-6)


def test_a_relative_bias_of_its_own_is_the_layer_s() -> None:
    app = opened("own_biases", "positions", head="2", layer="1")
    app.select_slider(key="bias_distance").set_value(-2).run()
    assert "only on their distance, and each layer has its own" in texts(app)
    recorded = run_of("own_biases").trace
    first, own = (
        recorded[f"encoder.layers.{i}.self_attn.position_bias"][0, 2, 3, 1].item() for i in range(2)
    )
    line = trace(app, "position_bias", "head 2")
    shown = array(line["y"])[array(line["x"]).tolist().index(-2)]
    assert shown == pytest.approx(own, abs=1e-6)
    assert shown != pytest.approx(first, abs=1e-3)


def test_sines_may_stand_before_cosines() -> None:
    app = opened("reader", "positions", pe_width="8", pe_pair="1", pe_position="3", pe_base="100")
    assert "all sines come before all cosines" in texts(app)
    (formula,) = [text for text in formulas(app) if "PE(3, 5)" in text]
    assert f"{np.sin(3 / 100 ** (2 / 8)):.4f}" in formula
    app.button_group(key="section").set_value("Map").run()
    drawn = array(figure(app, "pe_map")["data"][0]["z"])
    assert drawn[3, 5] == pytest.approx(np.cos(3 / 100 ** (2 / 8)), abs=1e-5)


def test_a_model_without_positions_says_so_and_takes_no_sentence() -> None:
    app = opened("stacks", "positions")
    assert "its attention knows no positions" in texts(app)
    assert "text" not in [box.key for box in app.text_input]


def test_learned_positions_without_a_factor_are_not_called_scaled() -> None:
    app = opened("prompted", "positions", section="In the sentence")
    (formula,) = [text for text in formulas(app) if "embedding" in text]
    assert r"\sqrt" not in formula
    assert app.button_group(key="pe_side").options == ["Decoder input"]
    names = [drawn["name"] for drawn in figure(app, "pe_sizes")["data"]]
    assert names == ["embedding", "position encoding"]
    assert "√d_model" not in texts(app)


# Masks, Layer norm, Decode


def test_prompts_are_filled_up_after_and_nothing_is_masked_for_it() -> None:
    app = opened("prompted", "masks", batch=BATCH)
    assert app.button_group(key="mask_attention").options == [ATTENTION_LABELS["decoder"]]
    assert app.text_area(key="batch").label == "Prompts, one per line"
    for _ in each_section(app):
        assert "padding is closed" not in texts(app)
        assert "grey and hatched" not in texts(app)
        assert "Rows of padding" not in texts(app)
    assert "This model has no padding token" in texts(app)
    tokens = [token for row in figure(app, "batch_target")["data"][0]["text"] for token in row]
    assert "(filled)" in tokens
    assert "&lt;pad&gt;" not in tokens


def test_an_encoder_alone_has_one_side_and_no_causal_mask() -> None:
    app = opened("masked", "masks", batch=BATCH)
    assert app.button_group(key="mask_attention").options == [ATTENTION_LABELS["encoder"]]
    app.button_group(key="section").set_value("Batch").run()
    with pytest.raises(KeyError):
        figure(app, "batch_target")
    assert figure(app, "batch_source")


def test_an_encoder_with_windows_is_not_said_to_close_padding_only() -> None:
    said = texts(opened("local", "masks", batch=BATCH))
    assert "forwards and backwards; padding is closed." in said
    assert "closes keys 2 or more positions away in layer 2" in said
    assert ", so only padding is closed" in texts(opened("masked", "masks", batch=BATCH))


def test_masks_begin_at_the_first_layer_with_a_window() -> None:
    app = opened("local", "masks", batch=BATCH)
    local = KINDS["local"]()
    batch = trace_batch(
        local, [encode_sentence(local, "source", line, "sentence") for line in BATCH.split("\n")]
    )
    closed = masks_of(batch, "encoder", 0, 1)["window"][WINDOW]
    assert closed.any()
    assert f"**Window**: {closed.sum()} of {closed.size} closed" in texts(app)
    for section in ("Masks", "One query"):
        app.button_group(key="section").set_value(section).run()
        assert (app.selectbox(key="layer").value, "layer" in app.query_params) == (1, False)
    assert opened("local", "masks", batch=BATCH, layer="0").selectbox(key="layer").value == 0
    assert opened("capped", "masks", batch=BATCH).selectbox(key="layer").value == 0


def test_a_layer_that_nobody_chose_is_not_brought_to_masks() -> None:
    pages = [f"viz/pages/{name}/page.py" for name in ("masks", "step_by_step")]
    app = opened("local", "step_by_step")
    for layer in (1, 0, 1):
        app.switch_page(pages[1 - layer]).run()
        assert app.selectbox(key="layer").value == layer
    app.selectbox(key="layer").set_value(0).run()
    for page in reversed(pages):
        app.switch_page(page).run()
        assert app.selectbox(key="layer").value == 0, "the layer that was chosen"


NORM_POSITIONS = {
    "rotary": "the final norm brings it back",
    "output_norms": "norms the **output** of each sublayer",
    "reader": "γ and β alone",
    "masked": "γ and β alone",
    "stacks": "no final norm brings it back",
}


@pytest.mark.parametrize("kind", NORM_POSITIONS)
def test_a_norm_s_formula_can_be_calculated_again(kind: str) -> None:
    app = opened(kind, "layer_norm", norm_dimension="4")
    formula = next(text for text in formulas(app) if r"\gamma_d" in text).split(r": \\ ")[1]
    found = re.fullmatch(
        rf"{NUMBER} \\cdot \\frac\{{(.*?)\}}\{{{NUMBER}\}}(.*) = {NUMBER} \\end\{{gathered\}}", formula
    )
    assert found is not None
    gamma, centered, scale, shift, result = found.groups()
    calculated = float(gamma) * total(centered) / float(scale) + total(shift)
    assert float(result) == pytest.approx(calculated, abs=2e-3)
    is_rms = kind in ("rotary", "output_norms")
    assert (shift == "") == is_rms
    assert ("RMS norm" in texts(app)) == is_rms
    names = [drawn.get("name") for drawn in figure(app, "norm_gamma_beta")["data"]]
    assert ("γ (gamma)" in names, len(names) == 1) == (True, is_rms), names
    app.button_group(key="section").set_value("Residual stream").run()
    assert NORM_POSITIONS[kind] in texts(app)
    (formula,) = [text for text in formulas(app) if "leftarrow" in text]
    assert ("RMSNorm" if is_rms else "LayerNorm") in formula


def test_norms_outside_of_the_stacks_can_be_chosen() -> None:
    app = opened("masked", "layer_norm")
    options = app.selectbox(key="norm").options
    assert options[0] == "Encoder: norm after the embeddings"
    assert options[-1] == "Norm before the generator"
    app.selectbox(key="norm").set_value("generator_transform.norm").run()
    assert not app.exception


@pytest.mark.parametrize(
    "kind, heads",
    [
        ("rotary", {"decoder.layers.1.self_attn.q_norm": 5, "decoder.layers.0.self_attn.k_norm": 1}),
        ("languages", {"decoder.layers.2.cross_attn.q_norm": 2, "decoder.layers.2.cross_attn.k_norm": 1}),
    ],
)
def test_norms_of_queries_and_keys_are_shown_head_by_head(kind: str, heads: dict[str, int]) -> None:
    app = opened(kind, "layer_norm")
    seen = run_of(kind).trace
    for path, head in heads.items():
        app.selectbox(key="norm").set_value(path).run()
        app.selectbox(key="norm_head").set_value(head).run()
        assert not app.exception
        record = seen.norm(path).for_head(head)
        rms = record.input[0].square().mean(dim=-1).sqrt()
        deviation = record.input[0].std(dim=-1, correction=0)
        drawn = figure(app, "norm_statistics")["data"]
        _, spread = (array(line["y"]) for line in drawn if line["name"] == "before")
        np.testing.assert_allclose(spread, (rms if kind == "rotary" else deviation).numpy(), atol=1e-4)
        assert f"numbers each, those of head {head} (all heads share γ)" in texts(app)
        tokens = seen.src_tokens if path.endswith("cross_attn.k_norm") else seen.tgt_tokens
        assert len(app.selectbox(key="norm_token").options) == 1 + len(tokens[0])


def test_queries_and_keys_are_there_as_they_were_before_their_norm(views: Views) -> None:
    app = opened("languages", attention="cross")
    asked = "vectors:cross:2:1"
    views.fetch(app, "viewer", [asked])
    trace = run_of("languages").trace
    for name in ("q", "k"):
        norm = trace.norm(f"decoder.layers.2.cross_attn.{name}_norm").for_head(1)
        before = views.array("viewer", f"{asked}/{name}_unnormed")
        np.testing.assert_allclose(before, norm.input[0].numpy(), atol=1e-5)
        assert not np.allclose(before, views.array("viewer", f"{asked}/{name}"), atol=1e-2)
    views.fetch(opened("prompted"), "viewer", ["vectors:decoder:0:0"])
    assert "vectors:decoder:0:0/q_unnormed" not in views.held["viewer"]


@pytest.mark.parametrize("kind, why", [("masked", "an encoder alone"), ("stacks", "has no generator")])
def test_what_makes_no_sentences_says_so_on_decode(kind: str, why: str) -> None:
    app = opened(kind, "decode")
    assert why in app.info[0].value
    assert not app.text_input


@pytest.mark.parametrize("kind", ["prompted", "languages", *full("rotary", "relative")])
def test_a_search_and_its_heads(kind: str, views: Views) -> None:
    app = opened(kind, "decode", section="Attention", target="the dog")
    run = run_of(kind)
    n_given = len(run.target_ids) - len(run.target.ids)
    data = views.data("beam_viewer")
    names = [attn["name"] for attn in data["attentions"]]
    assert names == (["decoder", "cross"] if run.encoder_input else ["decoder"])
    # At step 0 the decoder has read its start tokens.
    assert data["sides"]["decoder"]["tokens"] == list(run.trace.tgt_tokens[0][:n_given])
    views.choose(app, "beam_viewer", layer=1, head=2)
    for name in names:
        stack, module = MODULES[name]
        weights = run.trace.attention(stack, 1, module).weights[0, 2, :n_given]
        shown = views.array("beam_viewer", f"weights:{name}/values")[1, 2]
        np.testing.assert_allclose(shown, weights[:, : shown.shape[1]].numpy(), atol=1e-5)
        assert not weights[:, shown.shape[1] :].any()
    assert views.choice("beam_viewer")["cell"][0] == n_given - 1
    assert "the model is given" not in texts(app)
    app.button_group(key="section").set_value("Teacher forcing").run()
    forced = views.data("forcing_forced")
    assert [attn["name"] for attn in forced["attentions"]] == names[-1:]
    words = [token for token in forced["sides"]["decoder"]["tokens"] if token in ("the", "dog")]
    assert words[-2:] == ["the", "dog"], "the reference, not the model's own words"
