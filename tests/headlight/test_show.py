"""The widget of a run has the run's own numbers, and choices travel both ways."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import headlight
from tests.headlight.widgets import answers
from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.viz.mounted import unpack_frame
from transformer.analysis.attention_maps import attention_record
from transformer.analysis.receipts.receipt import Receipt
from viz.viewer.choice import default_choice
from viz.viewer.viewer_run import view_run

ROOT = Path(__file__).resolve().parents[2]
TEXT, TARGET = "the cat saw a dog", "il gatto"


def test_the_browser_gets_the_weights_that_the_model_computed() -> None:
    run = headlight.run(KINDS["relative"](), TEXT)
    data, arrays = unpack_frame(headlight.show(run).frame)
    assert [attn["name"] for attn in data["attentions"]] == run.attentions
    for attention in run.attentions:
        np.testing.assert_array_equal(arrays[f"weights:{attention}/values"], run.maps(attention).values)


def test_shared_keys_and_values_come_with_each_head_that_they_serve() -> None:
    run = headlight.run(KINDS["rotary"](), TEXT)
    (answer,) = answers(headlight.show(run), {"fetch": ["vectors:decoder:1:5"]})
    record = attention_record(run.trace, "decoder", 1)
    _, arrays = unpack_frame(answer)
    np.testing.assert_array_equal(arrays["vectors:decoder:1:5/q"], record.q[0, 5])
    np.testing.assert_array_equal(arrays["vectors:decoder:1:5/k"], record.k[0, 1])


def test_what_heads_cost_has_a_receipt() -> None:
    run = headlight.run(tiny_model(), TEXT, TARGET)
    (answer,) = answers(headlight.show(run), {"fetch": ["costs:cross", "receipt"]})
    _, arrays = unpack_frame(answer)
    receipt = Receipt.from_json(arrays["receipt/json"].tobytes().decode())
    assert receipt.inquiry.pairs == ((TEXT, TARGET),)
    costs = dict(zip(receipt.names, receipt.effects, strict=True))
    assert arrays["costs:cross/cost"][1, 2] == np.float32(costs["cross 1.2"])


def test_a_run_with_edits_is_not_asked_what_the_model_without_them_would_answer() -> None:
    path = "decoder.layers.0.cross_attn.z"
    run = headlight.run(tiny_model(), TEXT, edits={path: headlight.edits.zero(head=0)})
    data, _ = unpack_frame(headlight.show(run).frame)
    assert all("costs" not in attn["has"] for attn in data["attentions"])
    with pytest.raises(headlight.EditError, match="This run has edits"):
        headlight.why(run)


def test_each_sentence_of_a_batch_is_shown_with_its_padding() -> None:
    texts = [TEXT, "i see"]
    batch = headlight.run_batch(tiny_model(), texts)
    data, arrays = unpack_frame(headlight.show(batch, sentence=1).frame)
    source = data["sides"]["encoder"]
    assert source["tokens"][:3] == ["i", "see", "<eos>"]
    assert source["special"] == [2, 3, 4, 5]
    np.testing.assert_array_equal(arrays["weights:cross/values"], batch.maps("cross", sentence=1).values)
    (answer,) = answers(headlight.show(batch, sentence=1), {"fetch": ["vectors:encoder:0:2"]})
    np.testing.assert_array_equal(
        unpack_frame(answer)[1]["vectors:encoder:0:2/q"], batch.trace["encoder.layers.0.self_attn.q"][1, 2]
    )
    with pytest.raises(ValueError, match="There is no sentence 2: the batch has 0 to 1"):
        headlight.show(batch, sentence=2)


def test_a_choice_goes_to_the_browser_and_comes_from_it() -> None:
    run = headlight.run(tiny_model(), TEXT, TARGET)
    widget = headlight.show(run)
    first = default_choice(view_run(run.computed, run.model))
    assert (widget.choice["attention"], widget.choice["layer"], widget.choice["head"]) == (
        "cross",
        first.layer,
        first.head,
    )
    widget.choose(layer=1, head=2, cell=(1, 4), view="map")
    assert json.loads(json.dumps(widget.get_state()["choice"])) == json.loads(json.dumps(widget.choice))
    heard = []
    widget.observe(lambda change: heard.append(change["new"]), "choice")
    widget.set_state({"choice": {**widget.choice, "attention": "encoder", "cell": [2, 0]}})
    assert heard == [widget.choice]
    assert widget.choice | {"attention": "encoder", "layer": 1, "head": 2, "cell": (2, 0)} == widget.choice
    assert repr(widget) == f"<AttentionWidget of {TEXT!r} in tiny: Encoder self-attention, layer 1, head 2>"


def test_a_browser_can_choose_only_what_there_is() -> None:
    widget = headlight.show(headlight.run(tiny_model(), TEXT, TARGET))
    before = widget.choice
    widget.set_state({"choice": {"attention": "no", "view": {}, "layer": -1, "head": [], "cell": [99, 1]}})
    assert widget.choice == before
    widget.set_state({"choice": {"attention": "encoder", "layer": 99, "unheard of": 1}})
    assert widget.choice == before | {"attention": "encoder", "layer": 1}


@pytest.mark.parametrize(
    "content", [None, [], "fetch", {}, {"fetch": 1}, {"fetch": "weights:cross"}], ids=repr
)
def test_what_asks_for_nothing_is_not_answered(content: Any) -> None:
    assert answers(headlight.show(headlight.run(tiny_model(), TEXT, TARGET)), content) == []


def test_pieces_are_answered_and_names_of_none_do_no_harm() -> None:
    widget = headlight.show(headlight.run(tiny_model(), TEXT, TARGET))
    names = ["scores:cross", "scores:none", "head:cross:9:0", "", 3, "vectors:cross:0:1"]
    (answer,) = answers(widget, {"fetch": names})
    data, arrays = unpack_frame(answer)
    assert data["pieces"] == ["scores:cross", "vectors:cross:0:1"]
    assert data["choice"] is None, "the browser may have chosen something else meanwhile"
    scores = headlight.run(tiny_model(), TEXT, TARGET).maps("cross", "scores").values
    np.testing.assert_array_equal(arrays["scores:cross/values"], scores)


@pytest.mark.parametrize(
    "choice, told",
    [
        ({"attention": "self"}, "no attention 'self': choose one of 'encoder', 'decoder', 'cross'"),
        ({"layer": 3}, "no layer 3: the cross-attention has 0 to 2"),
        ({"attention": "encoder", "layer": 2}, "no layer 2: the encoder self-attention has 0 to 1"),
        ({"head": -1}, "no head -1: the cross-attention has 0 to 2"),
        ({"view": "matrix"}, "no view 'matrix' in the cross-attention: choose one of 'head', 'layer', 'map'"),
        ({"cell": (0, 6)}, r"no cell \(0, 6\)"),
        ({"against": "head 3"}, "no against 'head 3'"),
        ({"heads": [0, 3]}, r"no heads \[0, 3\]"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_there_is_not_is_refused_with_what_there_is(choice: dict[str, Any], told: str) -> None:
    widget = headlight.show(headlight.run(tiny_model(), TEXT, TARGET))
    with pytest.raises(ValueError, match=told):
        widget.choose(**choice)
    with pytest.raises(TypeError, match="no choice 'depth': there are attention, layer, head"):
        widget.choose(depth=1)


def test_runs_of_the_same_tokens_can_be_compared() -> None:
    run, other = (headlight.run(tiny_model(seed), TEXT, TARGET) for seed in (0, 1))
    widget = headlight.show(run, others={"before training": other})
    widget.choose(against="before training")
    name = "other:before training:cross:1:2"
    (answer,) = answers(widget, {"fetch": [name]})
    np.testing.assert_array_equal(unpack_frame(answer)[1][f"{name}/weights"], other.attention("cross", 1, 2))
    with pytest.raises(ValueError, match="its decoder tokens are not the same"):
        headlight.show(run, others={"other": headlight.run(tiny_model(), TEXT, "un cane")})
    with pytest.raises(ValueError, match="its encoder self-attention does not have 2 layers of 3 heads"):
        headlight.show(run, others={"other": headlight.run(tiny_model(n_heads=5), TEXT, TARGET)})
    for name in ("", "head 1", "a:b"):
        with pytest.raises(ValueError, match="without a colon"):
            headlight.show(run, others={name: other})


def test_the_theme_is_the_notebook_s_unless_it_is_given() -> None:
    run = headlight.run(tiny_model(), TEXT, TARGET)
    told, _ = unpack_frame(headlight.show(run).frame)
    assert told["palettes"]["dark"]["background"] != told["palettes"]["light"]["background"]
    dark, _ = unpack_frame(headlight.show(run, theme="dark").frame)
    assert dark["colors"] == told["palettes"]["dark"]
    assert "palettes" not in dark


@pytest.mark.slow
def test_a_notebook_keeps_the_widget_and_the_table_and_loads_no_app(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    show = f"""\
        import sys, headlight
        from tests.support.models import tiny_model
        widget = headlight.show(headlight.run(tiny_model(), {TEXT!r}, {TARGET!r}))
        widget"""
    cells = [
        dedent(show),
        "widget.choose(head=1)",
        "print(widget.choice['head'], 'streamlit' in sys.modules)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (drawn,) = notebook.cells[0].outputs
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(drawn.data)
    assert notebook.cells[2].outputs[0].text == "1 False\n"
    kept = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    (choice,) = (own["state"]["choice"] for own in kept if "choice" in own["state"])
    assert choice["head"] == 1
