"""The command `align`: links line by line, the choice on standard error, scores, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.aligning import swapped_pairs, swapping
from tests.support.kinds import KINDS
from transformer.__main__ import main
from transformer.cli import align
from transformer.cli.command import STOPPED
from transformer.loaded import LoadedModel

PAIRS = swapped_pairs(5, seed=7)
LINKS = [" ".join(f"{place}-{place ^ 1}" for place in range(len(source.split()))) for source, _ in PAIRS]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[LoadedModel], None]:
    """Let the command open an unsaved model."""
    return lambda loaded: monkeypatch.setattr(align, "open_with_answers", lambda *_: loaded)


def written(path: Path, *lines: str) -> str:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return str(path)


def test_a_line_of_links_per_pair(
    tmp_path: Path, opened: Callable[[LoadedModel], None], capsys: pytest.CaptureFixture[str]
) -> None:
    opened(swapping("reading"))
    lines = ["\t".join(pair) for pair in PAIRS]
    pairs = written(tmp_path / "pairs.tsv", "\tape", *lines, "ant  bee\t")
    assert main(["align", "--pairs", pairs]) == 0
    out, err = capsys.readouterr()
    assert out.split("\n") == ["", *LINKS, "", ""]
    assert "layer 1, head 2 (reading row)" in err
    assert "agreement with knock-outs of source words 1.000" in err
    assert "Warning" not in err


def test_scores_next_to_argmax_and_a_diagonal(
    tmp_path: Path, opened: Callable[[LoadedModel], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The links may be the last column of the pairs. With --out, standard output has the scores alone."""
    opened(swapping("writing"))
    rows = [f"{source}\t{target}\t{links}" for (source, target), links in zip(PAIRS, LINKS, strict=True)]
    pairs, out = written(tmp_path / "pairs.tsv", *rows), tmp_path / "links.txt"
    assert main(["align", "--pairs", pairs, "--gold", pairs, "--out", str(out)]) == 0
    assert out.read_text().splitlines() == LINKS
    table, err = capsys.readouterr()
    assert "(writing row)" in err
    rows = table.splitlines()
    assert rows[1].split() == ["alignment", *["1.000", "[1.000,", "1.000]"] * 2, "0.000", "[0.000,", "0.000]"]
    assert rows[3].split() == ["diagonal", *["0.000", "[0.000,", "0.000]"] * 2, "1.000", "[1.000,", "1.000]"]
    assert "AER minus that of diagonal: -1.000 [-1.000, -1.000], p < 0.0002" in table
    gold = written(tmp_path / "gold.txt", *LINKS)
    assert main(["align", "--pairs", pairs, "--gold", gold]) == 0
    again, err = capsys.readouterr()
    assert again.splitlines() == LINKS
    assert rows[1] in err


@pytest.mark.parametrize(
    "pairs, gold, message",
    [
        (["ant\tape", "bee boa"], None, "pairs.tsv:2 has no tab"),
        (["ant\tape"], ["0-0", ""], "2 lines and the pairs have 1"),
        (["ant\tape", "bee\tboa"], ["0-0", "1-1"], "gold.txt:2: the link 1-1 is outside the pair"),
        (["ant\tape"], ["0/0"], "gold.txt:1: '0/0' is no link"),
        (["ant\tape"], [""], "gold.txt has no links"),
    ],
)
def test_faulty_files_are_named_before_a_model_is_opened(
    pairs: list[str],
    gold: list[str] | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(align, "open_with_answers", None)
    given = ["--pairs", written(tmp_path / "pairs.tsv", *pairs)]
    given += [] if gold is None else ["--gold", written(tmp_path / "gold.txt", *gold)]
    assert main(["align", *given]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("kind, message", [("prompted", "no cross-attention"), ("stacks", "no generator")])
def test_models_that_cannot_align_are_refused(
    kind: str,
    message: str,
    tmp_path: Path,
    opened: Callable[[LoadedModel], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened(KINDS[kind]())
    assert main(["align", "--pairs", written(tmp_path / "pairs.tsv", "a\tb")]) == 1
    assert message in capsys.readouterr().err


def test_a_pair_that_is_too_long_is_named_and_the_others_are_aligned(
    tmp_path: Path, opened: Callable[[LoadedModel], None], capsys: pytest.CaptureFixture[str]
) -> None:
    opened(swapping("writing"))
    lines = ["\t".join(pair) for pair in PAIRS]
    assert main(["align", "--pairs", written(tmp_path / "p.tsv", "ant " * 40 + "\tape", *lines)]) == 1
    out, err = capsys.readouterr()
    assert out.split("\n") == ["", *LINKS, ""]
    assert "p.tsv:1 is not aligned: The source has 40 words" in err


def test_ctrl_c_writes_nothing(
    tmp_path: Path, opened: Callable[[LoadedModel], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    opened(swapping("writing"))
    monkeypatch.setattr(align, "pair_links", interrupt)
    out = tmp_path / "links.txt"
    pairs = written(tmp_path / "pairs.tsv", *("\t".join(pair) for pair in PAIRS))
    assert main(["align", "--pairs", pairs, "--out", str(out)]) == STOPPED
    assert not out.exists()
