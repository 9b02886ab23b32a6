"""The command `why`: an answer with its receipt, which it computes again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transformer.__main__ import main

TEXT = "The black cat sees the small dog."
MODEL = ("--model", "toy-en-it")


def test_an_answer_and_its_receipt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "why.json"
    assert main(["why", TEXT, *MODEL, "--word", "cane", "--rival", "gatto", "--out", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "fall of the logit of 'cane' minus that of 'gatto'" in shown
    assert len([line for line in shown.splitlines() if line.strip().startswith(("+", "-"))]) == 10
    assert main(["why", "--receipt", str(path)]) == 0, "the model is the receipt's"
    again = capsys.readouterr()
    assert "The same numbers" in again.out
    assert not again.err
    values = json.loads(path.read_text(encoding="utf-8"))
    values["effects"][0] += 0.01
    path.write_text(json.dumps(values), encoding="utf-8")
    assert main(["why", *MODEL, "--receipt", str(path)]) == 1
    assert "Other numbers: the largest difference is 1.0e-02" in capsys.readouterr().out


@pytest.mark.parametrize(
    "version, made_by",
    [("Headlight 0.1.0 with torch 2.0.0", "Headlight 0.1.0 with torch 2.0.0"), ("", "an unknown version")],
)
def test_a_receipt_of_another_version_runs_and_says_so(
    version: str, made_by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "why.json"
    assert main(["why", TEXT, *MODEL, "--out", str(path)]) == 0
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"version": version}), encoding="utf-8")
    assert main(["why", "--receipt", str(path)]) == 0
    shown = capsys.readouterr()
    assert f"This receipt was made by {made_by}" in shown.err
    assert f"; this is {values['version']}." in shown.err
    assert "The same numbers" in shown.out


def test_the_path_of_a_model_is_not_taken_from_a_receipt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "why.json"
    assert main(["why", TEXT, *MODEL, "--out", str(path)]) == 0
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"model": str(tmp_path)}), encoding="utf-8")
    assert main(["why", "--receipt", str(path)]) == 1
    assert f"The receipt is about {tmp_path}: give the path" in capsys.readouterr().err
    assert main(["why", *MODEL, "--receipt", str(path)]) == 0


def test_a_file_of_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("The cat sees a dog.\tIl gatto vede un cane.\nI see you.\tTi vedo.\n", encoding="utf-8")
    assert main(["why", *MODEL, "--pairs", str(pairs), "--most", "1"]) == 0
    shown = capsys.readouterr().out
    assert "n = 2" in shown
    assert "[" in shown.splitlines()[-1], "an interval"


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "Give a sentence, or --pairs"),
        ([TEXT, "--alone", "--rival", "gatto"], "they ask different questions"),
        ([TEXT, "--word", "zebra"], "no “zebra”"),
        ([TEXT, "--how", "mean"], "needs other sentences"),
        ([TEXT, "--out", "nowhere/why.json"], "There is no folder nowhere"),
        (["--receipt", "missing.json"], "missing.json"),
    ],
)
def test_refusals(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", *MODEL, *options]) == 1
    assert message in capsys.readouterr().err
