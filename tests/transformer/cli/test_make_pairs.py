"""make-pairs writes what is to be trained on and what is held out, and prints how much of what there is."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NoReturn

import pytest

from tests.transformer.data.making.small import libraries, write_dictionary
from transformer.__main__ import main
from transformer.cli.command import CommandError
from transformer.cli.make_pairs import run_making
from transformer.cli.options import MakePairs
from transformer.data.making.libraries import MissingLibraryError
from transformer.data.making.made import Amounts

GIVEN = [
    "loom|n|a machine|telaio|m",
    "lemur|n|an animal|lemure|m",
    "hollow|adj|empty|cavo|",
    "tall|adj|high|alto|",
    "refine|v|to purify|raffinare|",
    "adorn|v|to decorate|ornare|",
    "wither|v|to dry|appassire|",
    "bloom|v|to open|fiorire|",
    "Loom|n|a machine|telaio|m",
    "auk|n|a bird|alca|f",
]
EXPLAINED = [
    "telaio|m|loom",
    "lemure|m|lemur",
    "cavo|adj|hollow",
    "alto|adj|tall",
    "raffinare|vt|to refine",
    "ornare|vt|to adorn",
    "appassire|vi|to wither",
    "fiorire|vi|to bloom",
]
FEW = Amounts(per_noun=0.2, per_frame={"people": 1}, whole={"everyday": 1}, unknown=5)


@pytest.fixture
def command(tmp_path: Path) -> MakePairs:
    (tmp_path / "pairs.tsv").write_text("Tom is here.\tTom è qui.\nGo.\tVa.\tVai.\n", encoding="utf-8")
    (tmp_path / "test.tsv").write_text("english\titalian\nGood evening, everyone!\tSera!\n", encoding="utf-8")
    return MakePairs(
        pairs=(tmp_path / "pairs.tsv",),
        dictionary=write_dictionary(tmp_path, GIVEN, EXPLAINED),
        out=tmp_path / "made.tsv.gz",
        valid_out=tmp_path / "apart.tsv",
        held_out=(tmp_path / "test.tsv",),
    )


def lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()


def test_both_files_and_the_table(command: MakePairs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_making(command, load=libraries, amounts=FEW) == 0
    assert command.valid_out is not None
    made, apart = lines(command.out), lines(command.valid_out)
    assert all(line.count("\t") == 1 for line in made + apart)
    assert {"Go.\tVa.", "Go.\tVai."} <= set(made)
    assert not any(line.startswith("Good evening, everyone.\t") for line in made)
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    words = sum(len(line.split("\t")[1].split()) for line in made)
    assert f"to train on {len(made):,} {words:,}" in printed
    assert any(line.startswith(f"held out {len(apart)} ") for line in printed)
    assert "Taken of the dictionary: 2 nouns, 2 adjectives, 4 verbs." in printed
    assert "1 not a word, or more than one" in printed
    assert "1 not in both directions" in printed


def test_the_same_seed_writes_the_same_bytes(command: MakePairs) -> None:
    run_making(command, load=libraries, amounts=FEW)
    first = command.out.read_bytes()
    run_making(command, load=libraries, amounts=FEW)
    assert command.out.read_bytes() == first


def test_a_dictionary_of_too_few_words_is_refused(command: MakePairs, tmp_path: Path) -> None:
    write_dictionary(tmp_path, GIVEN[:1], EXPLAINED)
    with pytest.raises(CommandError, match="fewer than two adjectives and transitive verbs"):
        run_making(command, load=libraries, amounts=FEW)
    assert not command.out.exists()


def test_a_missing_library_is_said_in_a_sentence(command: MakePairs) -> None:
    def missing() -> NoReturn:
        raise MissingLibraryError("Making pairs needs wordfreq.")

    with pytest.raises(CommandError, match="Making pairs needs wordfreq"):
        run_making(command, load=missing)


@pytest.mark.parametrize(
    "out, more, message",
    [
        ("pairs.tsv", [], "--pairs and --out are both pairs.tsv: name two files."),
        ("test.tsv", [], "--held-out and --out are both test.tsv: name two files."),
        ("made.tsv", ["--valid-out", "made.tsv"], "--out and --valid-out are both made.tsv: name two files."),
        ("none/made.tsv", [], "--out: There is no folder none: make it first."),
        (".", [], "--out: . is a folder: name a file in it."),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(
    out: str, more: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    words = [
        "make-pairs",
        "--pairs",
        "pairs.tsv",
        "--dictionary",
        ".",
        "--held-out",
        "test.tsv",
        "--out",
        out,
    ]
    assert main([*words, *more]) == 1
    assert capsys.readouterr().err == f"{message}\n"
