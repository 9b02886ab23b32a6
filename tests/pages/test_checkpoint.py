"""Checkpoint: opened by path and by upload, asked about, examined, used on all pages, closed."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest
from transformers import GPT2Config, GPT2LMHeadModel

from tests.checkpoints import (
    HOSTILE_NAMES,
    MISSING,
    MISSPELT,
    N_DECODER_LAYERS,
    N_HEADS,
    SRC_VOCAB_SIZE,
    TGT_VOCAB_SIZE,
    broken_file,
    hostile_file,
    numberless_file,
    torch_file,
    translator,
    whole_module,
)
from tests.pages.app import HOSTILE, PAGES, open_app, texts
from tests.pages.views import Views
from tests.transformer.foreign_text.folders import byte_level
from transformer.analysis.examine import examination
from transformer.checkpoints.folder import MODELS
from transformer.config import TransformerConfig, preset
from transformer.model import Transformer
from transformer.run import SentenceError
from viz.checkpoint_session import shipped_subject
from viz.pages._checkpoint_drawing import stacks_of
from viz.session import RANDOM

PATH, UPLOAD = "A path on this machine", "Upload"
OPENED = "your checkpoint"


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Views:
    return Views(monkeypatch)


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left_open() -> Iterator[None]:
    main = sys.modules["__main__"]
    yield
    start(PATH)
    sys.modules["__main__"] = main  # as tests/conftest.py does behind each test


def start(where: str | None = None, **address: str) -> AppTest:
    """The page, with one way of opening chosen and nothing open.

    To Streamlit, the apps of all tests are one person, who may have left something open.
    """
    app = open_app("checkpoint", **address)
    if where is not None:
        app.button_group(key="checkpoint_from").set_value(where).run()
        if "Close it" in buttons(app):
            press(app, "Close it")
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def open_path(app: AppTest, path: Path | str) -> None:
    app.text_input(key="checkpoint_path").set_value(str(path))
    press(app, "Open it")


def opened(path: Path) -> AppTest:
    app = start(PATH)
    open_path(app, path)
    return app


def upload(app: AppTest, *paths: Path) -> None:
    files = [(path.name, path.read_bytes(), "application/octet-stream") for path in paths]
    app.file_uploader(key="checkpoint_upload").set_value(files)
    press(app, "Open it")


def buttons(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def questions(app: AppTest) -> dict[str, Any]:
    """What is asked, by its name, as Markdown shows it."""
    return {select.label.replace("\\", ""): select for select in app.selectbox}


def models(app: AppTest) -> list[str]:
    return list(app.radio(key="model").options)


def table(app: AppTest, column: str) -> Any:
    """The table that has such a column."""
    return next(element.value for element in app.dataframe if column in element.value.columns)


def titles(views: Views, severity: str) -> list[str]:
    found = views.data("findings")["findings"]
    return [finding["title"] for finding in found if finding["severity"] == severity]


# What is shown


@pytest.mark.parametrize("model", ["en-it", "toy-en-it"])
def test_a_shipped_model_is_shown_with_a_clean_bill(views: Views, model: str) -> None:
    app = start(model=model)
    assert [element.value for element in app.subheader] == [
        "What it is",
        "Architecture",
        "What the doctor says",
        "Every part, setting and name",
    ]
    config = shipped_subject(model).imported.report.config
    columns = views.data("architecture")["stacks"]
    assert [column["n_layers"] for column in columns] == [config.n_encoder_layers, config.n_decoder_layers]
    assert len(app.success) == 1
    assert titles(views, "problem") == titles(views, "warning") == []
    assert len(titles(views, "ok")) > 10
    assert any("none is missing" in element.value for element in app.caption)


def test_parameters_of_the_parts_add_up() -> None:
    parts = table(start(), "parameters").set_index("part")
    loaded = shipped_subject("toy-en-it").imported.loaded
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


def test_a_random_model_comes_from_no_file() -> None:
    app = start(model=RANDOM)
    assert "comes from no file" in app.info[0].value
    assert not app.subheader


# Opened


def test_a_file_opens_by_its_path(tmp_path: Path, views: Views) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    assert not app.warning, [element.value for element in app.warning]
    shown = texts(app)
    assert "Open: mine.pt" in shown
    assert "torch.nn.Transformer" in shown
    assert f"{sum(p.numel() for p in translator().parameters()):,}" in shown
    assert models(app) == ["en-it", "toy-en-it", OPENED, RANDOM]
    assert titles(views, "problem") == []


def test_what_the_file_does_not_tell_is_asked(tmp_path: Path, views: Views) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    asked = questions(app)
    assert {"n_heads", "norm_position", "activation"} <= asked.keys()
    asked["n_heads"].set_value(N_HEADS)
    press(app, "Open it again with these answers")
    blocks = [
        block
        for sublayer in views.data("architecture")["stacks"][0]["layer"]
        for block in sublayer["inside"]
        if block["kind"] == "attention"
    ]
    assert blocks[0]["detail"] == "4 heads of 4"
    told = table(app, "told by").set_index("setting")
    assert told.loc["n_heads", "told by"] == "you"
    assert told.loc["n_decoder_layers", ["value", "told by"]].tolist() == [
        str(N_DECODER_LAYERS),
        "the shapes of its tensors",
    ]


def test_answers_go_with_the_model_that_is_used(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    questions(app)["n_heads"].set_value(2)
    press(app, "Open it again with these answers")
    assert "2 heads" in app.sidebar.caption[0].value
    assert "All pages use it" in buttons(app)


def test_it_is_used_on_all_pages_until_it_is_closed(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    press(app, "Use it on all pages")
    assert "torch.nn.Transformer, opened" in "".join(app.radio(key="model").proto.captions)
    for page in PAGES:
        app.switch_page(f"viz/pages/{page}.py").run()
        assert not app.exception
        assert not app.warning, page
        assert not app.error, page
    app.switch_page("viz/pages/explore.py").run()
    assert app.text_input(key="numbers").label == "Numbers of tokens"
    app.switch_page("viz/pages/checkpoint.py").run()
    app.button_group(key="checkpoint_from").set_value(PATH).run()
    press(app, "Close it")
    assert models(app) == ["en-it", "toy-en-it", RANDOM]
    assert "Use it on all pages" not in buttons(app)
    app.switch_page("viz/pages/explore.py").run()
    assert not app.exception
    assert app.text_input(key="text").value == "Yesterday I saw a black cat."


def test_our_own_folder_opens_with_its_words() -> None:
    app = opened(MODELS / "toy-en-it")
    press(app, "Use it on all pages")
    app.switch_page("viz/pages/explore.py").run()
    app.text_input(key="text").set_value("I see the cat.").run()
    assert not app.warning
    assert "gatto" in texts(app)


def test_another_one_takes_its_place(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "first.pt"))
    press(app, "Use it on all pages")
    open_path(app, MODELS / "toy-en-it")
    assert "Open: toy-en-it" in texts(app)
    assert models(app).count(OPENED) == 1


# Uploaded


def test_files_are_uploaded_and_removed_when_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(kept))
    app = start(UPLOAD)
    upload(app, torch_file(tmp_path / "mine.pt"))
    assert "Open: mine.pt" in texts(app)
    stored = list(kept.glob("headlight-upload-*/*"))
    assert [path.name for path in stored] == ["mine.pt"]
    press(app, "Close it")
    assert not list(kept.glob("headlight-upload-*"))


def test_a_folder_is_uploaded_file_by_file() -> None:
    app = start(UPLOAD)
    upload(app, *(path for path in (MODELS / "toy-en-it").iterdir() if path.is_file()))
    assert "Open: uploaded folder" in texts(app)
    assert "Use it on all pages" in buttons(app)


def test_nothing_uploaded_is_said() -> None:
    app = start(UPLOAD)
    press(app, "Open it")
    assert "Choose a file of weights" in texts(app)


# Refused


def test_a_refusal_keeps_what_was_open(tmp_path: Path) -> None:
    app = opened(torch_file(tmp_path / "mine.pt"))
    open_path(app, whole_module(tmp_path / "whole.pt"))
    assert [element.value for element in app.warning] == ["This can't be opened."]
    assert "save" in texts(app)
    assert "tests.checkpoints.Translator" in texts(app)
    assert "Open: mine.pt" in texts(app)


@pytest.mark.parametrize(
    "path, reason",
    [
        ("", "Type the path"),
        ("   ", "Type the path"),
        ("/nowhere/at/all", "check the path '/nowhere/at/all'"),
        ("a\x00b", ""),
        ("~nobody/x", ""),
        ("<b>x</b> $y$ ![](http://example.com/x.png)", "<b>x</b> $y$ ![](http:/example.com/x.png)"),
        ("a" * 5000, ""),
    ],
)
def test_what_is_no_path_is_said_as_it_was_typed(path: str, reason: str) -> None:
    app = start(PATH)
    open_path(app, path)
    assert [element.value for element in app.warning] == ["This can't be opened."]
    assert any(reason in element.value for element in app.text), [element.value for element in app.text]
    assert not any("example.com" in element.value for element in app.markdown)


def test_no_paths_are_opened_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    get_option = st.get_option
    monkeypatch.setattr(
        st, "get_option", lambda key: "0.0.0.0" if key == "server.address" else get_option(key)
    )
    app = start(PATH)
    assert "opens no paths" in app.info[0].value
    assert not [box for box in app.text_input if box.key == "checkpoint_path"]


# Broken


def test_names_that_do_not_fit_are_listed_with_the_nearest(tmp_path: Path, views: Views) -> None:
    app = opened(broken_file(tmp_path / "mine.pt"))
    assert "Use it on all pages" not in buttons(app)
    assert OPENED not in models(app)
    names = table(app, "looks like").set_index("tensor")
    assert names.loc[MISSING, ["is", "looks like"]].tolist() == ["missing", MISSPELT]
    assert names.loc[MISSPELT, "is"] == "not expected"
    assert titles(views, "problem")
    assert "problem" in app.warning[0].value


def test_names_out_of_a_file_are_text(tmp_path: Path, views: Views) -> None:
    app = opened(hostile_file(tmp_path / "mine.safetensors"))
    listed = set(table(app, "looks like")["tensor"])
    assert set(HOSTILE_NAMES[:3]) <= listed
    assert "\u202e" not in "".join(listed)
    (question,) = (select.label for select in app.selectbox if "place" in select.label)
    assert question == r"place\_of\_!\[norm\](http\://example\_com/x\_png)"
    elsewhere = "\n".join(element.value for element in (*app.markdown, *app.caption))
    assert not any(name in elsewhere for name in HOSTILE_NAMES)
    found = json.dumps(views.data("findings"), ensure_ascii=False)
    assert HOSTILE_NAMES[0] in found
    assert "\u202e" not in found


# The doctor


def test_the_doctor_looks_with_what_was_typed(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def recorded(imported: Any, text: str) -> Any:
        asked.append(text)
        return examination(imported, text)

    monkeypatch.setattr("viz.pages._checkpoint_doctor.examination", recorded)
    app = start()
    app.text_area(key="checkpoint_text").set_value("qwertz zxcvb\nthe cat").run()
    assert not app.exception
    assert "Words that the tokenizer does not know" in titles(views, "warning")
    app.run()
    assert asked == ["", "qwertz zxcvb\nthe cat"], "what was said is kept"


def test_a_large_model_is_examined_when_asked(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.pages._checkpoint_doctor.SMALL", 1_000)
    app = start()
    assert "findings" not in views.frames
    press(app, "Look at the numbers")
    assert titles(views, "ok")
    app.run()
    assert "Look at the numbers" not in buttons(app)


def test_a_text_that_a_tokenizer_fails_on_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(imported: Any, text: str) -> Any:
        raise SentenceError("This model's tokenizer fails on this text (panic): type another one.")
        yield

    monkeypatch.setattr("viz.pages._checkpoint_doctor.examination", failing)
    app = start()
    assert [element.value for element in app.warning] == ["The doctor can't look with this text."]
    assert "tokenizer fails" in texts(app)
    assert "parameters" in app.dataframe[0].value.columns, "the rest of the page is there"


@pytest.mark.parametrize("name", HOSTILE)
def test_the_doctor_looks_with_any_text(views: Views, name: str) -> None:
    app = start()
    app.text_area(key="checkpoint_text").set_value(HOSTILE[name]).run()
    assert not app.exception
    assert titles(views, "ok")


# The drawing


def config_of(**changes: Any) -> TransformerConfig:
    return preset("toy", src_vocab_size=SRC_VOCAB_SIZE, tgt_vocab_size=TGT_VOCAB_SIZE, **changes)


def labels(config: TransformerConfig) -> list[list[str]]:
    """Of the blocks inside a layer, each stack's from the bottom up."""
    return [
        [block.label for sublayer in stack.layer for block in (*sublayer.inside, *sublayer.behind)]
        for stack in stacks_of(config)
    ]


def test_norms_stand_where_the_model_has_them() -> None:
    assert labels(config_of(norm_position="pre", final_norm=True))[0] == [
        "layer norm", "self-attention", "layer norm", "feed-forward",
    ]  # fmt: skip
    assert labels(config_of(norm_position="post", final_norm=False))[1] == [
        "causal self-attention", "layer norm", "cross-attention", "layer norm", "feed-forward", "layer norm",
    ]  # fmt: skip


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_all_weights_are_drawn_once(norm_position: str) -> None:
    config = config_of(norm_position=norm_position, final_norm=norm_position == "pre")
    drawn = 0
    for stack in stacks_of(config):
        inside = [block for sublayer in stack.layer for block in (*sublayer.inside, *sublayer.behind)]
        drawn += sum(block.parameters for block in (*stack.below, *stack.above))
        drawn += stack.n_layers * sum(block.parameters for block in inside)
    model = Transformer(config, torch.Generator().manual_seed(0))
    assert drawn == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    "name",
    [
        "transformer.encoder.layers.0.linear1.weight",
        "transformer.decoder.layers.1.norm2.weight",
        "tgt_embedding.weight",
        "generator.bias",
    ],
)
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_model_that_gives_no_numbers_is_shown_on_every_page(
    tmp_path: Path, name: str, number: float
) -> None:
    app = opened(numberless_file(tmp_path / "mine.pt", name, number))
    assert "1 problem found" in texts(app)
    press(app, "Use it on all pages")
    for page in PAGES:
        app = open_app(page, model=OPENED)
        assert not app.exception
        if name != "tgt_embedding.weight":  # the fifth word alone
            warned = [warning.value for warning in app.warning]
            assert any("are no numbers" in words for words in warned) == (
                page in ("explore", "decode", "masks")
            )


@pytest.mark.parametrize("text", ["a  black\u200bcat ", " cafe\u0301"])
def test_a_foreign_tokenizer_reads_what_was_typed(tmp_path: Path, views: Views, text: str) -> None:
    """Two spaces, invisible characters and uncomposed accents have tokens of their own in it."""
    tokenizer = byte_level(tmp_path, like_roberta=False)
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=24, n_head=3, n_layer=1, n_positions=80)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    app = opened(tmp_path)
    app.text_area(key="checkpoint_text").set_value(text).run()
    assert f"{len(ids)} tokens" in json.dumps(views.data("findings"))
    press(app, "Use it on all pages")
    app = open_app(model=OPENED)
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    shown = [token[1] for token in views.data("source_strip")["tokens"]]
    assert shown == ids
