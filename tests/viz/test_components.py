"""The client-side views from Python: what they send and refuse, and what their scripts may not do."""

import inspect
import json
import re
import struct
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import streamlit as st
from numpy.typing import NDArray
from streamlit.errors import StreamlitAPIException

import headlight
import viz.components
import viz.components.attention as viewer
from tests.viz.mounted import Mounted, unpack_frame
from viz.components import bridge
from viz.components.bridge import SavedFile, page_helpers, save_file
from viz.components.decoding_steps import decoding_steps
from viz.components.prediction import Board, prediction
from viz.components.shared.client_view import JSON, ClientView
from viz.components.shared.frame import pack_frame
from viz.components.shared.output_step import Candidate, OutputStep
from viz.components.shared.scripts import component
from viz.components.token_strip import StripToken, token_strip
from viz.theme import PALETTES

COLORS = PALETTES["light"]
ROOT = Path(headlight.__file__).parent.parent
SOURCES = sorted(Path(viz.components.__file__).parent.rglob("*.js"))
BUILT = sorted(ROOT.glob("headlight/browser/*.js"))
HOSTILE = ["<script>alert(1)</script>", "\ud800", "</div>", "שלום", '"]}', "\u2028", "x"]


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
    assert {"shell.js", "attention.js", "grid.js", "matrix.js"} <= {path.name for path in SOURCES}
    assert {"attention.js", "bridge.js", "beam_tree.js"} <= {path.name for path in BUILT}


@pytest.mark.parametrize("path", [*SOURCES, *BUILT], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_script_can_turn_a_token_into_markup_or_reach_a_server(path: Path) -> None:
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    # The name of SVG's namespace looks like a URL; nothing is fetched from it.
    network = r"fetch\(|XMLHttp|WebSocket|https?:(?!//www\.w3\.org/2000/svg\")"
    forbidden = f"{markup}|{network}"
    assert re.findall(forbidden, without_comments(path)) == []


def without_comments(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith("//"))


def test_every_built_script_is_declared_as_a_component() -> None:
    """An undeclared script would be sent with every update, unnoticed."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    components = settings["tool"]["streamlit"]["component"]["components"]
    # The script of a saved page is no component: it is part of the page.
    assert {component["name"] for component in components} == {path.stem for path in BUILT} - {
        "attention_page"
    }
    assert {component["asset_dir"] for component in components} == {"browser"}


def test_a_script_that_is_not_installed_travels_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit takes text without a line break for a file name."""
    made: list[dict[str, str]] = []

    def register(name: str, *, html: None, **content: str) -> Mock:
        if content["js"] == "bridge.js":
            raise StreamlitAPIException("must be declared in pyproject.toml")
        made.append({"name": name, **content})
        return Mock()

    monkeypatch.setattr(st.components.v2, "component", register)
    render = component("bridge", css="p { margin: 0 }")
    assert made == [], "only a server knows what is installed"
    render(key="a")
    render(key="b")
    assert made == [{"name": "headlight.bridge", "css": "p { margin: 0 }", "js": read_built("bridge")}]
    assert "\n" in made[0]["js"].strip()


def test_a_script_that_is_installed_is_named_only(monkeypatch: pytest.MonkeyPatch) -> None:
    register = Mock()
    monkeypatch.setattr(st.components.v2, "component", register)
    component("bridge")(key="a")
    register.assert_called_once_with("headlight.bridge", js="bridge.js", html=None, css=None)


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


def test_the_viewer_has_its_run_and_its_updates_in_messages_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new choice does not send the run again, and no message sends the script."""
    view, told = mount_viewer(monkeypatch)
    assert view["mine"]["data"] == b"run"
    message, arrays = unpack_frame(view["mine update"]["data"])
    assert message == {"kind": "attention_update", "channel": "mine"}
    assert arrays["content"].tobytes() == b"update"
    assert told == []


def test_the_viewer_reports_choices_and_requests_and_late_values_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two components report them, because Streamlit keeps only a component's last trigger per run."""
    view, told = mount_viewer(monkeypatch)
    reports = [view["mine"]["on_select_change"], view["mine update"]["on_answer_change"]]
    late: list[dict[str, object]] = [{}, {"mine": {}}, {"other": {"select": 1}}, {"mine": {"select": None}}]
    for state in late:
        monkeypatch.setattr(st, "session_state", state)
        for report in reports:
            report()
    assert told == []
    state = {"mine": {"select": {"layer": 1}}, "mine update": {"answer": ["scores:cross"]}}
    monkeypatch.setattr(st, "session_state", state)
    for report in reports:
        report()
    assert told == [("choice", {"layer": 1}), ("fetch", ["scores:cross"])]


def mount_viewer(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, dict[str, Any]], list[tuple[str, JSON]]]:
    """Draw the viewer as "mine"; return the arguments of each component by its key, and the reports."""
    given: dict[str, dict[str, Any]] = {}
    told: list[tuple[str, JSON]] = []

    def render(**options: Any) -> SimpleNamespace:
        given[options["key"]] = options
        return SimpleNamespace(answer=None)

    monkeypatch.setattr(viewer._VIEW, "_render", render)
    monkeypatch.setattr(bridge, "_render", render)
    monkeypatch.setattr(viewer, "_answer", inspect.unwrap(viewer._answer))  # a fragment needs a page
    viewer.attention(
        b"run",
        lambda: b"update",
        key="mine",
        on_choose=lambda choice: told.append(("choice", choice)),
        on_fetch=lambda names: told.append(("fetch", names)),
    )
    return given, told


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


def test_a_given_word_keeps_its_rank_and_probability(mounted: Mounted) -> None:
    draw_steps()
    assert mounted.data["taken"] == "given"
    assert mounted.data["unit"] == "sub-word"
    assert mounted.data["steps"][1]["rank"] == 187
    assert mounted.data["steps"][1]["probability"] == 0.001


# What they refuse


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


# The bridge


def test_a_file_arrives_unchanged_and_only_its_own_id_counts_as_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renderer, saved = Mock(), Mock()
    monkeypatch.setattr(bridge, "_render", renderer)
    earlier, file = (SavedFile(bytes(range(size)), "<b>.html", "text/html") for size in (3, 256))
    save_file(file, key="file", on_saved=saved)
    message, arrays = unpack_frame(renderer.call_args.kwargs["data"])
    assert message == {"kind": "saved_file", "id": file.id, "name": "<b>.html", "mime": "text/html"}
    assert arrays["content"].tobytes() == file.content
    for answer, n_saved in ((earlier.id, 0), (0, 0), ([], 0), (file.id, 1)):
        monkeypatch.setattr(st, "session_state", {"file": {"answer": answer}})
        renderer.call_args.kwargs["on_answer_change"]()
        assert saved.call_count == n_saved


def test_every_kind_of_message_has_its_helper_in_the_browser() -> None:
    folder = Path(bridge.__file__).parent
    sent = re.findall(r'_send\(\s*"(\w+)"', (folder / "__init__.py").read_text(encoding="utf-8"))
    helpers = re.search(
        r"HELPERS = \{(.*?)\};", (folder / "bridge.js").read_text(encoding="utf-8"), re.DOTALL
    )
    assert helpers
    assert sorted(sent) == re.findall(r"(\w+)[,:]", re.sub(r": \w+", ":", helpers[1]))


@pytest.mark.parametrize("answer, lesson", [("masks", "masks"), (None, ""), (3, ""), ({}, "")])
def test_a_lesson_requested_by_a_term_is_a_text(
    monkeypatch: pytest.MonkeyPatch, answer: JSON, lesson: str
) -> None:
    monkeypatch.setattr(bridge, "_render", Mock(return_value=SimpleNamespace(answer=answer)))
    assert page_helpers("helpers") == lesson


# A prediction

BOARD = Board(
    columns=["<b>", "b", "c"],
    rows=["x", "y"],
    axes=("query", "key"),
    values=np.array([[0.25, np.nan, 0.5], [0.125, 0.75, 0.375]]),
    right=np.array([[False, False, False], [False, True, False]]),
    unit="weight",
)


def predict(is_revealed: bool, board: Board = BOARD, **options: Any) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    prediction(
        board,
        colors=COLORS,
        key="board",
        title="Where?",
        is_revealed=is_revealed,
        on_predict=told.append,
        **options,
    )
    return told


def test_what_is_to_be_predicted_is_not_in_the_browser_before_it_is_revealed(mounted: Mounted) -> None:
    predict(False)
    assert set(mounted.arrays) == {"open"}
    np.testing.assert_array_equal(mounted.arrays["open"], [[1, 0, 1], [1, 1, 1]])
    hidden = mounted.frame
    predict(False, replace(BOARD, values=BOARD.values[:, ::-1][:, [2, 1, 0]] * 3, right=~BOARD.right))
    assert mounted.frame == hidden, "nothing that is sent depends on the values or on what is right"
    predict(True, chosen=(0, 2))
    np.testing.assert_allclose(mounted.arrays["values"], BOARD.values, rtol=1e-6)
    np.testing.assert_array_equal(mounted.arrays["right"], BOARD.right)
    assert mounted.data["chosen"] == [0, 2]
    assert mounted.data["columns"] == ["<b>", "b", "c"]


def test_a_place_that_can_be_predicted_is_told(mounted: Mounted) -> None:
    told = predict(False)
    mounted.on_select(mounted.parse([1, 2]))
    assert told == [(1, 2)]


@pytest.mark.parametrize(
    "value", [[0, 1], [2, 0], [0, 3], [-1, 0], [0], [0, 1, 2], 3, None, "ab", [0.0, 2], [True, 2], {}]
)
def test_a_place_that_is_closed_or_none_is_refused(mounted: Mounted, value: object) -> None:
    predict(False)
    with pytest.raises((ValueError, TypeError)):
        mounted.parse(value)


def test_what_is_revealed_can_be_predicted_no_more(mounted: Mounted) -> None:
    predict(True)
    with pytest.raises(ValueError, match="not a place to choose"):
        mounted.parse([1, 2])


def test_a_long_label_is_cut_and_says_so(mounted: Mounted) -> None:
    predict(False, replace(BOARD, columns=["x" * 900, "b", "c"]))
    assert "more characters" in mounted.data["columns"][0]
    assert len(mounted.data["columns"][0]) < 300
