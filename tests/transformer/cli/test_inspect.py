"""The command `inspect`: its text, its JSON and its errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.transformer.analysis.doctor.patients import broken, imported, pre_norm_model
from transformer.__main__ import main
from transformer.analysis.architecture import drawing
from transformer.analysis.doctor.examine import CHECKS, examine
from transformer.analysis.parts import parts_of
from transformer.checkpoints.folder import save_model
from transformer.checkpoints.importing.report import Setting
from transformer.checkpoints.places import MODELS
from transformer.cli import inspect
from transformer.cli.inspect_json import to_plain
from transformer.cli.inspect_text import printable, short_number, to_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "tiny", tiny_model())
    return tmp_path / "tiny"


@pytest.fixture
def state_dict(tmp_path: Path) -> Path:
    stacks = nn.Transformer(32, 4, 2, 3, 37, batch_first=True)
    torch.save({"epoch": 3, "model": stacks.state_dict()}, tmp_path / "stacks.pt")
    return tmp_path / "stacks.pt"


def never_opened(*_: object, **__: object) -> None:
    raise AssertionError("the numbers were read")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide enough for every sentence to stand on one line."""
    monkeypatch.setenv("COLUMNS", "110")


def inspected(path: Path | str, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["inspect", str(path), *options]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def test_a_shipped_model_is_named_and_gets_a_clean_bill(capsys: pytest.CaptureFixture[str]) -> None:
    out = inspected("toy-en-it", "--text", "the dog is black.", capsys=capsys)
    assert out.startswith(f"{MODELS / 'toy-en-it'}\n")
    assert "1,291,817 parameters" in out
    assert "├─ 2 × layer             198,272  each; 396,544 together" in out
    assert "n_heads 4 config config.json: n_heads" in " ".join(out.split())
    assert "A clean bill" in out
    assert out.count("\n  ok  ") == len(CHECKS)


def test_text_is_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = inspected(folder, "--text", "the fox saw a cat.", capsys=capsys)
    assert "warning  Words that the tokenizer does not know (1 of the text's 6 tokens, 17 %)" in out
    assert "fox" in out


def test_weights_are_not_read_if_quick_or_if_large_without_check(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "SMALL", 1000)
    assert "A clean bill" in inspected(folder, "--check", capsys=capsys)
    monkeypatch.setattr("transformer.checkpoints.opening.open_checkpoint", never_opened)
    assert "--check reads the weights" in inspected(folder, capsys=capsys)
    monkeypatch.setattr(inspect, "SMALL", 10**9)
    out = inspected(folder, "--quick", capsys=capsys)
    assert "38,560 parameters" in out
    assert "--check reads the weights" in out


def test_answers_and_open_questions(state_dict: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = ["--answers", "n_heads=4", "--answers", "embedding_scale=NO", "norm_position=pre"]
    out = inspected(state_dict, "--quick", *answers, capsys=capsys)
    for answer in ("n_heads = 4", "embedding_scale = False", "norm_position = pre"):
        assert f"{answer} (as answered)" in out
    assert "activation = relu (assumed; for another: --answers activation=...)" in out
    for shown in ("4 heads of 8", "encoder", "pre-norm"):
        assert shown in out


def test_an_empty_path_is_not_the_current_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["inspect", ""]) == main(["translate", "--model", " ", "a fox"]) == 1
    assert capsys.readouterr().err.count("The path is empty: give") == 2
    assert main(["inspect", ".", "--quick"]) == 0


def test_json_has_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain: dict[str, Any] = json.loads(inspected(folder, "--json", capsys=capsys))
    assert plain["config"]["n_heads"] == 3
    assert plain["n_parameters"] == sum(part["n_parameters"] for part in plain["parts"]) == 38_560
    assert {finding["severity"] for finding in plain["findings"]} == {"ok"}
    assert set(plain["checks"]) == {check.name for check in CHECKS} - {"unknown tokens"}
    assert plain["keys"]["missing"] == []
    assert {setting["source"] for setting in plain["settings"]} <= {"config", "layout"}
    quick = json.loads(inspected(folder, "--json", "--quick", capsys=capsys))
    assert quick["findings"] is None
    assert quick | {"findings": 0, "checks": 0} == plain | {"findings": 0, "checks": 0}


def test_json_has_null_for_infinity() -> None:
    lost = broken(tiny_model(), lambda weights: weights["generator.bias"].fill_(float("inf")))
    json.dumps(to_plain(imported(lost), examine(imported(lost))), allow_nan=False)


def test_a_broken_model_is_opened_and_its_fault_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(
        tmp_path / "lost",
        broken(pre_norm_model(), lambda weights: weights["generator.bias"].fill_(torch.nan)),
    )
    out = inspected(tmp_path / "lost", capsys=capsys)
    assert "problem  Weights that are NaN (15 of them in 1 of 117 tensors)" in out
    assert "generator.bias (15)" in out
    assert "clean bill" not in out


@pytest.mark.parametrize(
    "name, content, options, message",
    [
        ("model.pt", b"version https://git-lfs.github.com/spec/v1\noid sha256:a\nsize 3\n", [], "Git LFS"),
        ("model.safetensors", b"", [], "empty"),
        ("model.bin", b"<!DOCTYPE html><html>", [], "web page"),
        (None, b"", ["--answers", "n_heads"], "--answers n_heads is no answer"),
        (None, b"", ["--answers", "n_hands=2"], "nothing to ask"),
        (None, b"", ["--answers", "n_heads=4", "n_heads=2"], "has n_heads=4 and n_heads=2"),
        (None, b"", ["--answers", "n_heads=4", "--answers", "n_heads=4"], "answer each question once"),
        (None, b"", ["--quick", "--text", "a"], "--quick"),
    ],
)
def test_an_error_is_one_line(
    name: str | None,
    content: bytes,
    options: list[str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder if name is None else folder / name
    if name is not None:
        path.write_bytes(content)
    assert main(["inspect", str(path), *options]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_control_characters_are_printed_as_codes() -> None:
    assert printable("a\x1b[31mb\u202ec\n") == "a<U+001B>[31mb<U+202E>c<U+000A>"
    loaded = tiny_model()
    assert "\x1b" not in to_text(imported(loaded), examine(imported(loaded), "the \x1b[2Jdog"))


def test_a_drawing_names_equal_layers_once() -> None:
    config = tiny_model(n_kv_heads=1, gated=True, positions="rotary", generator_transform=True).model.config
    branches = drawing(config, parts_of(config))
    lines = [branch.lines + branch.name for branch in branches]
    stack = ["encoder", "└─ 2 × layer", "   ├─ self_attn", "   ├─ self_attn_norm", "   ├─ feed_forward"]
    assert lines[:6] == ["src_embedding", *stack]
    details = {branch.name: branch.detail for branch in branches}
    assert details["self_attn"] == "3 heads of 10, 1 of keys and values"
    assert details["feed_forward"] == "30 → 23 → 30, gated relu"
    assert details["encoder"] == "post-norm, rotary positions"
    assert details["generator"] == "weight 15 × 30, tied to the embedding"


def test_short_numbers() -> None:
    assert [short_number(n) for n in (999, 1_500, 74_376_192, 3_000_000_000)] == [
        "999", "1.5 k", "74.4 M", "3 G",
    ]  # fmt: skip


def test_lines_are_as_long_as_the_terminal_is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = imported(KINDS["capped"]())
    settings = (Setting("position_bases", (9.0, 0.0, 500.0) * 20, "config", "one word after another " * 5),)
    checkpoint = replace(checkpoint, report=replace(checkpoint.report, settings=settings))
    for columns, shown in (("80", 80), ("500", 110), ("1", 60)):
        monkeypatch.setenv("COLUMNS", columns)
        text = to_text(checkpoint, None)
        assert shown - 12 < max(map(len, text.splitlines()[1:])) <= shown
        assert all(line.startswith("  │  │   ") for line in text.splitlines() if "0.3," in line)
        assert "(9.0, ... 60 in all)" in text
