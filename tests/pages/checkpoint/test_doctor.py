"""Checkpoint: findings in files that are broken, hostile or not finite, and in typed texts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from transformers import GPT2Config, GPT2LMHeadModel

from tests.pages.app import PAGES, buttons, open_app, press, texts
from tests.pages.checkpoint.page import OPENED, models, opened, start, table, titles
from tests.pages.views import Views
from tests.support.checkpoints import (
    HOSTILE_NAMES,
    MISSING,
    MISSPELT,
    broken_file,
    hostile_file,
    numberless_file,
)
from tests.transformer.checkpoints.tokenizers.folders import byte_level
from transformer.analysis.doctor.examine import CHECKS, examine
from transformer.errors import SentenceError

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")


def test_names_that_do_not_fit_are_listed_with_the_nearest(tmp_path: Path, views: Views) -> None:
    app = opened(broken_file(tmp_path / "mine.pt"))
    assert "Use it on all pages" not in buttons(app)
    assert OPENED not in models(app)
    names = table(app, "looks like").set_index("tensor")
    assert names.loc[MISSING, ["is", "looks like"]].tolist() == ["missing", MISSPELT]
    assert names.loc[MISSPELT, "is"] == "unexpected"
    assert titles(views, "problem")
    assert "problem" in app.warning[0].value


def test_names_out_of_a_file_are_text(tmp_path: Path, views: Views) -> None:
    app = opened(hostile_file(tmp_path / "mine.safetensors"))
    listed = set(table(app, "looks like")["tensor"])
    assert set(HOSTILE_NAMES[:3]) <= listed
    assert "\u202e" not in "".join(listed)
    (question,) = (select.label for select in app.selectbox if "place" in select.label)
    assert question == r"place_of\_!\[norm\](http\://example_com/x_png)"
    elsewhere = "\n".join(element.value for element in (*app.markdown, *app.caption))
    assert not any(name in elsewhere for name in HOSTILE_NAMES)
    found = json.dumps(views.data("findings"), ensure_ascii=False)
    assert HOSTILE_NAMES[0] in found
    assert "\u202e" not in found


# The doctor


def test_the_doctor_looks_with_what_was_typed(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def recorded(imported: Any, text: str, on_check: Any, answers: Any) -> Any:
        asked.append(text)
        return examine(imported, text, on_check, answers=answers)

    monkeypatch.setattr("viz.pages.checkpoint.doctor.examine", recorded)
    app = start()
    app.text_area(key="checkpoint_text").set_value("qwertz zxcvb\nthe cat").run()
    assert not app.exception
    assert "Words that the tokenizer does not know" in titles(views, "warning")
    app.run()
    assert asked == ["qwertz zxcvb\nthe cat"], (
        "the report is computed once, and all users share that without text"
    )


def test_checks_that_were_not_made_are_named_with_the_reason(tmp_path: Path) -> None:
    (summary,) = (found.value for found in start().success if "clean bill" in found.value)
    made = f"{len(CHECKS) - 1} of {len(CHECKS)} checks were made."
    assert summary.endswith(f"{made} Skipped: unknown tokens (type a sentence for it).")
    GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=24, n_head=3, n_layer=1)).save_pretrained(tmp_path)
    app = opened(tmp_path)
    assert "(type a sentence for it); padding (this model has no padding token)." in texts(app)
    app = opened(numberless_file(tmp_path / "mine.pt", "generator.bias", math.nan))
    assert "Skipped: unknown tokens (type a sentence for it); those in the notes below." in texts(app)


def test_a_large_model_is_examined_when_asked(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.pages.checkpoint.doctor.SMALL", 1_000)
    app = start()
    assert "findings" not in views.frames
    press(app, "Examine it")
    assert titles(views, "ok")
    app.run()
    assert "Examine it" not in buttons(app)


def test_a_text_that_a_tokenizer_fails_on_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(imported: Any, text: str, on_check: Any, answers: Any) -> Any:
        raise SentenceError("This model's tokenizer fails on this text (panic): type another one.")

    monkeypatch.setattr("viz.pages.checkpoint.doctor.examine", failing)
    app = start()
    app.text_area(key="checkpoint_text").set_value("the cat").run()
    assert [element.value for element in app.warning] == ["The doctor can't use this text."]
    assert "tokenizer fails" in texts(app)
    assert "parameters" in app.dataframe[0].value.columns, "the rest of the page is there"


NUMBERLESS = [
    pytest.param(
        name, number, marks=() if (name, number) == ("generator.bias", math.nan) else pytest.mark.full
    )
    for name in (
        *("transformer.encoder.layers.0.linear1.weight", "transformer.decoder.layers.1.norm2.weight"),
        *("tgt_embedding.weight", "generator.bias"),
    )
    for number in (math.nan, math.inf)
]


@pytest.mark.parametrize("name, number", NUMBERLESS)
def test_a_model_that_gives_no_numbers_is_shown_on_every_page(
    tmp_path: Path, name: str, number: float
) -> None:
    app = opened(numberless_file(tmp_path / "mine.pt", name, number))
    assert "1 problem found" in texts(app)
    press(app, "Use it on all pages")
    for page in PAGES:
        app = open_app(page, model=OPENED)
        assert not app.exception
        if name != "tgt_embedding.weight":  # this breaks one word only
            warned = [warning.value for warning in app.warning]
            assert any("are not finite" in words for words in warned) == (
                page in ("explore", "decode", "why", "masks")
            )


def test_a_foreign_tokenizer_reads_what_was_typed(tmp_path: Path, views: Views) -> None:
    """It has its own tokens for two spaces, invisible characters and uncomposed accents."""
    text = " cafe\u0301  black\u200bcat "
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
