"""Checkpoint: opened by path and by upload, questions, use on all pages, refusals, closing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit as st

from tests.pages.app import PAGES, TERM, buttons, press, texts
from tests.pages.checkpoint.page import (
    OPENED,
    PATH,
    UPLOAD,
    models,
    open_path,
    opened,
    questions,
    start,
    table,
    titles,
    upload,
)
from tests.pages.views import Views
from tests.support.checkpoints import (
    N_DECODER_LAYERS,
    N_HEADS,
    SRC_VOCAB_SIZE,
    file_with_a_command,
    file_with_averages,
    torch_file,
    translator,
    whole_module,
)
from transformer.checkpoints.places import MODELS, shipped_models
from viz.pages.checkpoint.session import shipped_model
from viz.pages.sidebar import CLOSED_NOTE
from viz.session import RANDOM
from viz.text_session import DEFAULT_SENTENCE

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")


@pytest.fixture
def unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor and the measured answers wait for a button, as for a large model: they take longest."""
    monkeypatch.setattr("viz.pages.checkpoint.doctor.SMALL", 0)
    monkeypatch.setattr("viz.pages.checkpoint.answers.SMALL", 0)


# What is shown


@pytest.mark.parametrize("model", shipped_models())
def test_a_shipped_model_is_shown_with_a_clean_bill(views: Views, model: str) -> None:
    app = start(model=model)
    assert [element.value for element in app.header] == [
        "Summary",
        "Architecture",
        "The doctor's report",
        "Parts, settings and names",
    ]
    config = shipped_model(model).imported.report.config
    columns = views.data("architecture")["stacks"]
    assert [column["n_layers"] for column in columns] == [config.n_encoder_layers, config.n_decoder_layers]
    assert len(app.success) == 1
    assert titles(views, "problem") == titles(views, "warning") == []
    assert len(titles(views, "ok")) > 10
    assert any("none is missing" in element.value for element in app.caption)


@pytest.mark.usefixtures("unexamined")
def test_parameters_of_the_parts_add_up() -> None:
    parts = table(start(), "parameters").set_index("part")
    loaded = shipped_model("toy-en-it").imported.loaded
    assert loaded is not None
    whole = sum(p.numel() for p in loaded.model.parameters())
    assert parts.loc["encoder", "parameters"] == sum(
        parts.loc[name, "parameters"]
        for name in parts.index
        if re.fullmatch(r"encoder\.(layers\.\d+|final_norm)", name)
    )
    tops = [name for name in parts.index if "." not in name]
    assert sum(parts.loc[tops, "parameters"]) == whole
    assert sum(parts.loc[tops, "share"]) == pytest.approx(100)


@pytest.mark.usefixtures("unexamined")
def test_a_random_model_comes_from_no_file() -> None:
    app = start(model=RANDOM)
    assert "no file to check" in app.info[0].value
    assert [header.value for header in app.header] == ["Architecture"]
    press(app, "Choose toy-en-it")
    assert app.radio(key="model").value == "toy-en-it"
    assert not app.info


# Opened


def test_a_file_opens_by_its_path_and_what_it_does_not_say_is_asked(tmp_path: Path, views: Views) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    assert not app.warning, [element.value for element in app.warning]
    shown = texts(app)
    assert "Open: mine.pt" in shown
    assert "torch.nn.Transformer" in shown
    assert f"{sum(p.numel() for p in translator().parameters()):,}" in shown
    assert models(app) == [*shipped_models(), OPENED, RANDOM]
    assert titles(views, "problem") == []
    asked = questions(app)
    assert {"n_heads", "norm_position", "activation"} <= asked.keys()
    asked["n_heads"].set_value(N_HEADS)
    press(app, "Reopen with these answers")
    blocks = [
        block
        for sublayer in views.data("architecture")["stacks"][0]["layer"]
        for block in sublayer["inside"]
        if block["kind"] == "attention"
    ]
    assert blocks[0]["detail"] == "4 heads of 4"
    told = table(app, "source").set_index("setting")
    assert told.loc["n_heads", "source"] == "you"
    assert told.loc["n_decoder_layers", ["value", "source"]].tolist() == [
        str(N_DECODER_LAYERS),
        "the shapes of its tensors",
    ]


@pytest.mark.slow
def test_a_module_saved_whole_and_one_of_several_weights_open(tmp_path: Path) -> None:
    app = opened(whole_module(tmp_path / "whole.pt"))
    assert not app.warning, [element.value for element in app.warning]
    assert questions(app)["n_heads"].value == N_HEADS
    open_path(app, file_with_averages(tmp_path / "last.pt"))
    assert questions(app)["weights"].value == "model"
    questions(app)["weights"].set_value("ema")
    press(app, "Reopen with these answers")
    assert table(app, "source").set_index("setting").loc["weights", ["value", "source"]].tolist() == [
        "ema",
        "you",
    ]


@pytest.mark.usefixtures("unexamined")
def test_answers_go_with_the_model_that_is_used(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    questions(app)["n_heads"].set_value(2)
    assert "was assumed" in texts(app)
    press(app, "Reopen with these answers")
    assert "You have answered these." in texts(app)
    assert "2 heads" in TERM.sub(r"\1", app.sidebar.caption[0].value)
    assert "All pages use it" in buttons(app)


@pytest.mark.usefixtures("unexamined")
def test_it_is_used_on_all_pages_until_it_is_closed(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    assert "torch.nn.Transformer, opened" in "".join(app.radio(key="model").proto.captions)
    for page in PAGES:
        app.switch_page(f"viz/pages/{page}/page.py").run()
        assert not app.exception
        assert not app.warning, page
        assert not app.error, page
    app.switch_page("viz/pages/explore/page.py").run()
    assert app.text_input(key="numbers").label == "Token ids"
    ids = [int(word) for word in str(app.text_input(key="numbers").value).split()]
    assert len(ids) == 6
    assert all(3 < index < SRC_VOCAB_SIZE for index in ids)
    assert "numbers" not in app.query_params
    app.switch_page("viz/pages/checkpoint/page.py").run()
    app.button_group(key="checkpoint_from").set_value(PATH).run()
    press(app, "Close it")
    assert models(app) == [*shipped_models(), RANDOM]
    assert "Use it on all pages" not in buttons(app)
    app.switch_page("viz/pages/explore/page.py").run()
    assert not app.exception
    assert app.text_input(key="text").value == DEFAULT_SENTENCE


@pytest.mark.usefixtures("unexamined")
def test_what_a_reload_closes_is_said_until_another_model_is_chosen() -> None:
    start(PATH)
    app = start(model=OPENED)
    assert [info.value for info in app.info] == [CLOSED_NOTE]
    app.radio(key="model").set_value("toy-en-it").run()
    assert not app.info
    app.radio(key="model").set_value("en-it").run()
    assert not app.info, "said once"


@pytest.mark.usefixtures("unexamined")
def test_what_a_reload_closes_is_said_until_it_is_opened_again(tmp_path: Path) -> None:
    start(PATH)
    app = start(PATH, model=OPENED)
    assert app.info[0].value == CLOSED_NOTE
    open_path(app, torch_file(tmp_path / "mine.pt"))
    assert not app.info
    press(app, "Close it")
    assert not app.info, "closed by the user"


@pytest.mark.usefixtures("unexamined")
def test_no_visit_begins_with_what_it_has_not_lost() -> None:
    start(PATH)
    app = start()
    assert not app.info
    assert "until you close it, or close or reload this page" in texts(app), "said before anything is opened"
    assert not start(model="never heard of").info


@pytest.mark.usefixtures("unexamined")
def test_our_own_folder_opens_with_its_words(views: Views) -> None:
    app = opened(MODELS / "toy-en-it")
    press(app, "Use it on all pages")
    app.switch_page("viz/pages/explore/page.py").run()
    app.text_input(key="text").set_value("I see the cat.").run()
    assert not app.warning
    assert "gatto" in views.output()


@pytest.mark.usefixtures("unexamined")
def test_another_one_takes_its_place(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "first.pt"))
    press(app, "Use it on all pages")
    open_path(app, MODELS / "toy-en-it")
    assert "Open: toy-en-it" in texts(app)
    assert models(app).count(OPENED) == 1


# Uploaded


@pytest.mark.usefixtures("unexamined")
def test_files_are_uploaded_and_removed_when_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    app = start(UPLOAD)
    upload(app, torch_file(tmp_path / "mine.pt"))
    assert "Open: mine.pt" in texts(app)
    stored = list(kept.glob("headlight-upload-*/*/*"))
    assert [path.name for path in stored] == ["mine.pt"]
    press(app, "Close it")
    assert not list(kept.glob("headlight-upload-*"))


@pytest.mark.usefixtures("unexamined")
def test_a_folder_is_uploaded_file_by_file() -> None:
    app = start(UPLOAD)
    press(app, "Open it")
    assert "Choose a file of weights" in texts(app), "nothing was uploaded"
    upload(app, *(path for path in (MODELS / "toy-en-it").iterdir() if path.is_file()))
    assert "Open: uploaded folder" in texts(app)
    assert "Use it on all pages" in buttons(app)


# Refused


@pytest.mark.usefixtures("unexamined")
def test_a_refusal_keeps_what_was_open(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    open_path(app, file_with_a_command(tmp_path / "evil.pt"))
    assert [element.value for element in app.warning] == ["This can't be opened."]
    assert "asks for 'posix.system' to be called" in texts(app)
    assert "Open: mine.pt" in texts(app)


@pytest.mark.usefixtures("unexamined")
def test_what_is_no_path_is_said_as_it_was_typed() -> None:
    app = start(PATH)
    for path, reason in (
        ("   ", "Type the path"),
        ("/nowhere/at/all", "There is no model '/nowhere/at/all'"),
        ("a\x00b", ""),
        ("~nobody/x", ""),
        ("<b>x</b> $y$ ![](http://example.com/x.png)", "<b>x</b> $y$ ![](http:/example.com/x.png)"),
        ("a" * 5000, ""),
    ):
        open_path(app, path)
        assert [element.value for element in app.warning] == ["This can't be opened."]
        assert any(reason in element.value for element in app.text), [element.value for element in app.text]
        assert not any("example.com" in element.value for element in app.markdown)


@pytest.mark.parametrize(
    "option, value",
    [
        ("server.address", "0.0.0.0"),
        ("browser.serverAddress", "192.168.1.5"),
        ("server.allowedHosts", ["localhost", "school.example"]),
    ],
)
def test_no_paths_are_opened_for_others(option: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a proxy in front, the server's own address is that of this machine."""
    get_option = st.get_option
    monkeypatch.setattr(st, "get_option", lambda key: value if key == option else get_option(key))
    app = start(PATH)
    assert "opens no paths" in app.info[0].value
    assert not [box for box in app.text_input if box.key == "checkpoint_path"]
