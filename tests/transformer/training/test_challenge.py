"""A challenge set: its format, what counts as kept, what is a loop, and the command that scores it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.models import tiny_subword_model
from transformer.__main__ import main
from transformer.checkpoints.folder import save_model
from transformer.data.corpus import CorpusError
from transformer.training.evaluation.challenge import (
    COLUMNS,
    CategoryScores,
    Challenge,
    challenge_scores,
    is_loop,
    overall_scores,
    read_challenges,
)

HEADER = "\t".join(COLUMNS)
NAMES = "names\tAnna is tired.\tAnna; stanca/affaticata\tAnna è stanca. | Anna è affaticata."
NUMBERS = "numbers\tI have 7 dogs.\t7/sette\tHo sette cani."


def table(folder: Path, *lines: str) -> Path:
    path = folder / "challenge.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_pieces_alternatives_and_references(tmp_path: Path) -> None:
    assert read_challenges(table(tmp_path, HEADER, NAMES, NUMBERS)) == [
        Challenge(
            "names",
            "Anna is tired.",
            (("Anna",), ("stanca", "affaticata")),
            ("Anna è stanca.", "Anna è affaticata."),
        ),
        Challenge("numbers", "I have 7 dogs.", (("7", "sette"),), ("Ho sette cani.",)),
    ]


@pytest.mark.parametrize(
    "lines, said",
    [
        (["a\tb\tc", NAMES], "first line has to be category source kept references"),
        ([HEADER, NAMES, "names\tAnna.\t\tAnna."], ":3 does not have 4"),
        ([HEADER, "names\tAnna.\tAnna"], ":2 does not have 4"),
    ],
)
def test_what_is_no_challenge_set_is_refused_in_words(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        read_challenges(table(tmp_path, *lines))


@pytest.mark.parametrize(
    "translation, held",
    [
        ("Anna è stanca.", [True, True]),
        ("ANNA è affaticata", [True, True]),
        ("L'Anna è stancante.", [True, False]),
        ("Annalisa è stanca.", [False, True]),
        ("", [False, False]),
    ],
)
def test_whole_words_count_capitals_aside(translation: str, held: list[bool]) -> None:
    challenge = Challenge(
        "names", "Anna is tired.", (("Anna",), ("stanca", "affaticata")), ("Anna è stanca.",)
    )
    assert challenge.contains(translation) == held


def test_scores_of_categories_and_of_all(tmp_path: Path) -> None:
    challenges = read_challenges(table(tmp_path, HEADER, NAMES, NAMES, NUMBERS))
    translated = ["Anna è stanca.", "Tom è stanca stanca stanca stanca.", "Ho sette cani."]
    names, numbers = challenge_scores(challenges, translated)
    assert (names.category, names.sentences, names.kept, names.pieces, names.loops) == ("names", 2, 3, 4, 1)
    assert 50 < names.chrf < 100
    assert numbers == CategoryScores("numbers", sentences=1, kept=1, pieces=1, chrf=100.0, loops=0)
    total = overall_scores([names, numbers])
    assert (total.sentences, total.kept, total.pieces, total.loops) == (3, 4, 5, 1)
    assert total.chrf == pytest.approx((2 * names.chrf + 100) / 3)


@pytest.mark.parametrize(
    "text",
    [
        "no no no",
        "e il cane e il cane e il cane",
        "la casa è molto bella, la casa è molto bella",
        "Sì, sì, sì!",
    ],
)
def test_what_runs_in_circles(text: str) -> None:
    assert is_loop(text)


@pytest.mark.parametrize(
    "text", ["", "no no", "il cane e il gatto e il topo", "piano piano, molto molto bene"]
)
def test_what_does_not(text: str) -> None:
    assert not is_loop(text)


def test_the_command_scores_each_category(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(tmp_path / "model", tiny_subword_model(1))
    path = table(tmp_path, HEADER, NAMES, NUMBERS)
    asked = ["evaluate", "--challenge", str(path), "--model", str(tmp_path / "model")]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()[2:]] == ["names", "numbers", "all"]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["all"]["pieces"] == 3
    assert {one["source"] for one in found["missed"]} <= {"Anna is tired.", "I have 7 dogs."}


@pytest.mark.parametrize("asked", [[], ["--pairs", "a.tsv", "--challenge", "b.tsv"]])
def test_either_pairs_or_a_challenge(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", *asked]) != 0
    assert "--challenge" in capsys.readouterr().err
