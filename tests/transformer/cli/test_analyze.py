"""python -m transformer analyze: resumed and shared analyses give the same bytes; folders are never mixed."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.models import tiny_model
from transformer.__main__ import main
from transformer.analysis.roles.analysis import HeadAnalysis
from transformer.checkpoints.folder import save_model
from transformer.cli.analyze import drawn_pairs

PAIRS = [
    ("I see the dog.", "vedo il cane."),
    ("yesterday the cat saw a dog.", "ieri il gatto ha visto un cane."),
    ("a cat", "un gatto"),
    ("", "ieri"),
]


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """The command's options but --out: 36 sources, of which the model reads 27."""
    save_model(tmp_path / "mine", tiny_model())
    lines = [f"{source}\t{target}\t{target} lo" for source, target in PAIRS * 9]
    (tmp_path / "pairs.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return ["--model", str(tmp_path / "mine"), "--pairs", str(tmp_path / "pairs.tsv.gz"), "--limit", "36"]


def contents(folder: Path) -> bytes:
    return (folder / "heads.json").read_bytes()


def test_it_writes_a_report_once(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["analyze", *given, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("mine: 27 sentences, 9 left out, next to 4 random models\nEncoder self-att")
    assert " 6 heads: 6 none" in printed
    assert sorted(path.name for path in out.iterdir() if path.name != ".lock") == ["heads.json", "plan.json"]
    assert len(json.loads(contents(out))["heads"]) == 24
    with patch.object(HeadAnalysis, "part", side_effect=AssertionError):
        assert main(["analyze", *given, "--out", str(out), "--against", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Compared with mine: 0 of 24 heads do what another head of their layer did." in printed
    assert "encoder layer 0 head 0     0.000   0.000   0.000  none" in printed


def test_stopped_and_started_again_it_continues(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with patch("transformer.cli.analyze.HeadAnalysis", partial(HeadAnalysis, part_size=7)):
        assert main(["analyze", *given, "--out", str(tmp_path / "unbroken")]) == 0
        computed: list[int] = []
        part = HeadAnalysis.part

        def stopped(self: HeadAnalysis, number: int) -> object:
            if number == 2:
                raise KeyboardInterrupt
            computed.append(number)
            return part(self, number)

        with patch.object(HeadAnalysis, "part", stopped):
            assert main(["analyze", *given, "--out", str(tmp_path / "out")]) == 130
        assert "Stopped after 14 of 27 sentences. The same command continues" in capsys.readouterr().err

        def rest(self: HeadAnalysis, number: int) -> object:
            computed.append(number)
            return part(self, number)

        with patch.object(HeadAnalysis, "part", rest):
            assert main(["analyze", *given, "--out", str(tmp_path / "out")]) == 0
    assert computed == [0, 1, 2, 3]
    assert contents(tmp_path / "out") == contents(tmp_path / "unbroken")


def test_a_limit_draws_from_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{n}\t{n} first\t{n} second\n" for n in range(200)), encoding="utf-8")
    drawn = drawn_pairs([file], 40, seed=0)
    numbers = [int(source) for source, _ in drawn]
    assert all(target == f"{source} first" for source, target in drawn)
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 40
    assert 60 < sum(numbers) / 40 < 140
    assert drawn_pairs([file], 40, seed=0) == drawn != drawn_pairs([file], 40, seed=1)
    assert len(drawn_pairs([file], 0, seed=0)) == len(drawn_pairs([file], 300, seed=0)) == 200


@pytest.mark.slow
def test_processes_share_the_sentences(given: list[str], tmp_path: Path) -> None:
    given = [*given[:-1], "0"]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m"]
    root = Path(__file__).parents[3]
    for name, command in (("one", [sys.executable, "-m"]), ("two", launch)):
        own = [*command, "transformer", "analyze", *given, "--device", "cpu", "--out", str(tmp_path / name)]
        subprocess.run(own, cwd=root, check=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_what_can_t_be_done_is_said(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["analyze", *given[:-1], "4", "--out", str(out)]) == 0
    no_pairs = [*given[:2], "--pairs", str(tmp_path / "none.tsv")]
    for options, message in (
        ([*given, "--out", str(out)], "has the analysis of another model, other sentences or another seed"),
        ([*given, "--out", str(tmp_path / "x"), "--limit", "-1"], "--limit is -1"),
        ([*given, "--out", str(tmp_path / "x"), "--against", str(tmp_path)], "heads.json can't be read"),
        ([*given, "--out", str(tmp_path / "x"), "--against", str(tmp_path / "pairs.tsv.gz")], "is not JSON"),
        ([*no_pairs, "--out", str(tmp_path / "x")], "none.tsv"),
        ([*given, "--out", str(tmp_path / "pairs.tsv.gz")], "can't be written to"),
        ([*given[:-1], "9", "--out", str(tmp_path / "x"), "--against", str(out)], "read different tokens"),
    ):
        capsys.readouterr()
        assert main(["analyze", *options]) == 1
        assert message in capsys.readouterr().err
