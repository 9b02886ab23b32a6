"""The client-side views as Python sees them: what they send and refuse, and what their scripts may not do."""

import json
import re
import struct
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import streamlit as st
from numpy.typing import NDArray
from streamlit.errors import StreamlitAPIException

import headlight
import viz.components
from tests.viz.mounted import Mounted, unpack_frame
from viz.components.attention_grid import GridCell, attention_grid
from viz.components.attention_lines import WINDOW, attention_lines
from viz.components.attention_matrix import EXACT_SIDE, MatrixCell, attention_matrix
from viz.components.decoding_steps import Candidate, OutputStep, decoding_steps
from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import pack_frame
from viz.components.shared.scripts import component
from viz.components.token_strip import StripToken, token_strip
from viz.pooling import pool_maps
from viz.theme import PALETTES

COLORS = PALETTES["light"]
ROOT = Path(headlight.__file__).parent.parent
SOURCES = sorted(Path(viz.components.__file__).parent.rglob("*.js"))
BUILT = sorted(ROOT.glob("headlight/browser/*.js"))
LAYERS, HEADS, QUERIES, KEYS = 2, 3, 5, 7
HOSTILE = ["<script>alert(1)</script>", "\ud800", "</div>", "שלום", '"]}', "\u2028", "x"]


def random_weights(*shape: int) -> NDArray[np.float32]:
    weights = np.random.default_rng(3).random(shape, dtype=np.float32)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)


def names(count: int) -> list[str]:
    return [f"w{i}" for i in range(count)]


def draw_grid(
    query_tokens: Sequence[str] = tuple(names(QUERIES)),
    layer_labels: Sequence[str] = tuple(names(LAYERS)),
    selected: GridCell | None = None,
) -> None:
    attention_grid(
        pool_maps(random_weights(LAYERS, HEADS, QUERIES, KEYS)),
        query_tokens=query_tokens,
        key_tokens=names(KEYS),
        layer_labels=layer_labels,
        head_labels=names(HEADS),
        selected=selected,
        colors=COLORS,
        key="grid",
    )


def draw_matrix(
    values: NDArray[np.float32], closed: NDArray[np.uint8] | None = None, reasons: Sequence[str] = ()
) -> None:
    n_queries, n_keys = values.shape
    attention_matrix(
        values,
        query_tokens=names(n_queries),
        key_tokens=names(n_keys),
        closed=closed,
        reasons=reasons,
        colors=COLORS,
        key="matrix",
    )


def draw_lines(n_queries: int, n_keys: int, first_query: int = 0) -> None:
    attention_lines(
        random_weights(HEADS, n_queries, n_keys),
        query_tokens=names(n_queries),
        key_tokens=names(n_keys),
        head_labels=names(HEADS),
        first_query=first_query,
        colors=COLORS,
        key="lines",
    )


def draw_steps() -> None:
    best = [Candidate("il", 0.75), Candidate("la", 0.125)]
    steps = [OutputStep("il", 0.75, 1, best), OutputStep("zoo", 0.001, 187, best)]
    decoding_steps(steps, forced=True, unit="sub-word", colors=COLORS, key="steps")


# The frame


def test_a_frame_gives_back_data_and_arrays() -> None:
    arrays: dict[str, NDArray[Any]] = {
        "bytes": np.arange(5, dtype=np.uint8),
        "levels": np.arange(6, dtype=np.uint16).reshape(2, 3),
        "starts": np.array([70_000], np.uint32),
        "numbers": np.array([[0.1, -np.inf]], np.float32),
        "none": np.zeros(0, np.float32),
    }
    data, unpacked = unpack_frame(pack_frame({"words": HOSTILE}, arrays))
    assert data == {"words": HOSTILE}
    for name, array in arrays.items():
        np.testing.assert_array_equal(unpacked[name], array)


def test_a_frame_aligns_every_array() -> None:
    for length in range(1, 10):
        frame = pack_frame(
            {"pad": "x" * length}, {"a": np.ones(length, np.uint8), "b": np.ones(2, np.float32)}
        )
        (header_length,) = struct.unpack_from("<I", frame)
        offset = json.loads(frame[4 : 4 + header_length])["arrays"]["b"]["offset"]
        assert offset % 8 == 0
        np.testing.assert_array_equal(unpack_frame(frame)[1]["b"], [1, 1])


def test_a_frame_refuses_what_a_browser_cannot_read() -> None:
    with pytest.raises(TypeError, match="float64"):
        pack_frame({}, {"wide": np.zeros(2)})
    with pytest.raises(ValueError, match="JSON"):
        pack_frame({"number": float("nan")}, {})


# The scripts


def test_there_are_scripts_to_look_at() -> None:
    assert {"shell.js", "attention_grid.js", "attention_matrix.js"} <= {path.name for path in SOURCES}
    assert {"attention_grid.js", "attention_matrix.js"} <= {path.name for path in BUILT}


@pytest.mark.parametrize("path", [*SOURCES, *BUILT], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_script_can_turn_a_token_into_markup_or_reach_a_server(path: Path) -> None:
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    # The name of SVG's namespace looks like an address; nothing is fetched from it.
    network = r"fetch\(|XMLHttp|WebSocket|https?:(?!//www\.w3\.org/2000/svg\")"
    forbidden = f"{markup}|{network}"
    assert re.findall(forbidden, without_comments(path)) == []


def without_comments(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith("//"))


def test_every_built_script_is_declared_as_a_component() -> None:
    """What is not declared would travel with every update, unnoticed."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    components = settings["tool"]["streamlit"]["component"]["components"]
    assert {component["name"] for component in components} == {path.stem for path in BUILT}
    assert {component["asset_dir"] for component in components} == {"browser"}


def test_a_script_that_is_not_installed_travels_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit takes a text without a line break for the name of a file."""
    made: list[dict[str, str]] = []

    def register(name: str, *, html: None, **content: str) -> Mock:
        if content["js"] == "clock.js":
            raise StreamlitAPIException("must be declared in pyproject.toml")
        made.append({"name": name, **content})
        return Mock()

    monkeypatch.setattr(st.components.v2, "component", register)
    render = component("clock", css="p { margin: 0 }")
    assert made == [], "only a server knows what is installed"
    render(key="a")
    render(key="b")
    assert made == [{"name": "headlight.clock", "css": "p { margin: 0 }", "js": read_built("clock")}]
    assert "\n" in made[0]["js"].strip()


def test_a_script_that_is_installed_is_named_only(monkeypatch: pytest.MonkeyPatch) -> None:
    register = Mock()
    monkeypatch.setattr(st.components.v2, "component", register)
    component("clock")(key="a")
    register.assert_called_once_with("headlight.clock", js="clock.js", html=None, css=None)


def read_built(name: str) -> str:
    return next(path for path in BUILT if path.stem == name).read_text(encoding="utf-8")


# What the views send


def test_what_a_view_tells_when_it_has_gone_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    view = ClientView("token_strip")
    told: list[str] = []
    renderer = Mock(return_value={})
    monkeypatch.setattr(view, "_render", renderer)
    view.mount(b"", key="mine", parse=str, on_select=told.append)
    report = renderer.call_args.kwargs["on_select_change"]
    monkeypatch.setattr(st, "session_state", {})
    report()
    assert told == []
    monkeypatch.setattr(st, "session_state", {"mine": {"select": 3}})
    report()
    assert told == ["3"]


def test_tokens_travel_as_they_are(mounted: Mounted) -> None:
    token_strip([StripToken(text, i) for i, text in enumerate(HOSTILE)], colors=COLORS, key="strip")
    assert [token[0] for token in mounted.data["tokens"]] == HOSTILE


def test_a_token_too_long_to_read_is_cut_and_says_so(mounted: Mounted) -> None:
    token_strip([StripToken("x" * 100_000, 3)], colors=COLORS, key="strip")
    assert mounted.data["tokens"][0][0] == "x" * 200 + "… (99,800 more characters)"


def test_the_strip_counts_unknown_words(mounted: Mounted) -> None:
    tokens = [StripToken("a", 4), StripToken("zyx", 3, unknown=True), StripToken("<eos>", 2, special=True)]
    token_strip(tokens, colors=COLORS, key="strip")
    assert [token[2] for token in mounted.data["tokens"]] == ["word", "unknown", "special"]
    assert "1 word is not in the vocabulary" in mounted.data["note"]


def test_the_parts_of_a_word_stand_together_with_the_word(mounted: Mounted) -> None:
    parts = [("▁the", 0), ("▁ra", 1), ("cc", 1), ("oon", 1), (".", 2)]
    tokens = [StripToken(text, i, word=word) for i, (text, word) in enumerate(parts)]
    tokens.append(StripToken("<eos>", 2, special=True))
    words = ["the", "raccoon", "."]
    token_strip(tokens, words=words, note="▁ is a space.", colors=COLORS, key="strip")
    assert mounted.data["words"] == [["the", 1], ["raccoon", 3], [".", 1], ["", 1]]
    assert [token[0] for token in mounted.data["tokens"]] == [token.text for token in tokens]
    assert mounted.data["note"].endswith("▁ is a space.")
    assert "vocabulary: the model gets" not in mounted.data["note"]


def test_the_grid_sends_one_byte_a_block_and_the_exact_strongest_pair(mounted: Mounted) -> None:
    draw_grid(selected=GridCell(1, 2))
    weights = random_weights(LAYERS, HEADS, QUERIES, KEYS)
    assert mounted.arrays["levels"].dtype == np.uint8
    assert mounted.arrays["levels"].size == weights.size
    assert mounted.data["selected"] == [1, 2]
    for map_index, cells in enumerate(weights.reshape(-1, QUERIES, KEYS)):
        query, key = mounted.data["strongest_query"][map_index], mounted.data["strongest_key"][map_index]
        assert cells[query, key] == cells.max() == mounted.arrays["high"].ravel()[map_index]


def test_the_grid_takes_only_selections_that_exist(mounted: Mounted) -> None:
    draw_grid()
    assert mounted.parse({"layer": 1, "head": 2}) == GridCell(1, 2)
    for wrong in ({"layer": LAYERS, "head": 0}, {"layer": -1, "head": 0}, {"layer": True, "head": 0}):
        with pytest.raises(ValueError, match="not a position"):
            mounted.parse(wrong)


def test_short_sentences_travel_exactly(mounted: Mounted) -> None:
    values = random_weights(QUERIES, KEYS)
    values[0, 1] = -np.inf
    draw_matrix(values)
    np.testing.assert_array_equal(mounted.arrays["values"], values)


def test_long_sentences_travel_to_the_stated_precision(mounted: Mounted) -> None:
    values = np.random.default_rng(0).normal(size=(EXACT_SIDE + 1, 3)).astype(np.float32)
    values[4, 2] = -np.inf
    draw_matrix(values)
    data, levels = mounted.data, mounted.arrays["levels"]
    assert levels.dtype == np.uint16
    assert (levels > data["top"]).sum() == 1
    finite = np.isfinite(values)
    restored = data["low"] + levels / data["top"] * (data["high"] - data["low"])
    half_a_level = (data["high"] - data["low"]) / data["top"] / 2
    np.testing.assert_allclose(restored[finite], values[finite], atol=half_a_level * 1.01)


def test_a_matrix_of_nothing_but_minus_infinity_is_sent(mounted: Mounted) -> None:
    draw_matrix(np.full((EXACT_SIDE + 1, 2), -np.inf, np.float32))
    assert (mounted.arrays["levels"] > mounted.data["top"]).all()


def test_512_tokens_stay_near_half_a_megabyte(mounted: Mounted) -> None:
    draw_matrix(random_weights(512, 512), np.triu(np.ones((512, 512), np.uint8), 1), ["masked: future"])
    assert len(mounted.frame) < 560_000


@pytest.mark.parametrize("seed", range(5))
def test_runs_of_closed_cells_give_back_every_reason(mounted: Mounted, seed: int) -> None:
    closed = np.random.default_rng(seed).integers(0, 3, (QUERIES, KEYS)).astype(np.uint8)
    draw_matrix(random_weights(QUERIES, KEYS), closed, ["future", "padding"])
    starts, reasons = mounted.arrays["run_starts"], mounted.arrays["run_reasons"]
    lengths = np.diff(starts, append=closed.size)
    np.testing.assert_array_equal(np.repeat(reasons, lengths).reshape(closed.shape), closed)


def test_reasons_are_broadcast(mounted: Mounted) -> None:
    padding = np.array([0] * (KEYS - 2) + [1, 1], np.uint8)
    draw_matrix(random_weights(QUERIES, KEYS), padding, ["padding"])
    assert len(mounted.arrays["run_starts"]) == 2 * QUERIES


def test_a_matrix_tells_a_lock_from_its_end(mounted: Mounted) -> None:
    draw_matrix(random_weights(QUERIES, KEYS))
    assert mounted.parse({"query": 4, "key": 6}) == MatrixCell(4, 6)
    assert mounted.parse("cleared") is None
    with pytest.raises(ValueError, match="not a position"):
        mounted.parse({"query": 5, "key": 6})


def test_lines_send_a_window_of_long_sentences_and_say_so(mounted: Mounted) -> None:
    draw_lines(WINDOW + 10, 7, first_query=6)
    weights = random_weights(HEADS, WINDOW + 10, 7)[:, 6 : 6 + WINDOW]
    np.testing.assert_allclose(mounted.arrays["weights"] / 65535, weights, atol=0.5 / 65535)
    assert mounted.data["queries"][0] == "w6"
    assert f"queries 6 to {WINDOW + 5} of {WINDOW + 10}" in mounted.data["note"]
    assert "keys" not in mounted.data["note"]


def test_a_given_word_keeps_its_rank_and_probability(mounted: Mounted) -> None:
    draw_steps()
    assert mounted.data["taken"] == "given"
    assert mounted.data["unit"] == "sub-word"
    assert mounted.data["steps"][1]["rank"] == 187
    assert mounted.data["steps"][1]["probability"] == 0.001


# What they refuse


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="the labels"):
        draw_grid(query_tokens=names(QUERIES + 1))
    with pytest.raises(ValueError, match="the labels"):
        draw_grid(layer_labels=["only one"])


def test_a_reason_that_is_not_given_is_refused() -> None:
    with pytest.raises(ValueError, match="reason 1, of 0"):
        draw_matrix(random_weights(QUERIES, KEYS), np.ones((QUERIES, KEYS), np.uint8))


def test_a_window_outside_the_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="no window"):
        draw_lines(QUERIES, KEYS, first_query=QUERIES)


def test_an_output_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="no step"):
        decoding_steps([], colors=COLORS, key="steps")


def test_steps_that_fill_places_tell_their_positions(mounted: Mounted) -> None:
    steps = [OutputStep("il", 0.75, 1, [Candidate("il", 0.75)])] * 2
    decoding_steps(steps, positions=[3, 7], start=["a", "x" * 900], colors=COLORS, key="steps")
    assert mounted.data["positions"] == [3, 7]
    assert mounted.data["start"][0] == "a"
    assert len(mounted.data["start"][1]) < 300
    with pytest.raises(ValueError, match="2 steps need as many positions"):
        decoding_steps(steps, positions=[3], colors=COLORS, key="steps")


def test_an_unknown_word_is_told_by_its_model_s_name(mounted: Mounted) -> None:
    token_strip([StripToken("zebra", 3, unknown=True)], unknown_name="[UNK]", colors=COLORS, key="strip")
    assert "the model gets [UNK] there" in mounted.data["note"]
