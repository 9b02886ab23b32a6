"""Files of sentence pairs are read completely, or the error says where they can't be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from transformer.data.corpus import LONGEST_LINE, NO_TAB, CorpusError, Referenced, read_pairs, read_references


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def texts(*paths: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(*paths)]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_columns(tmp_path: Path, name: str) -> None:
    """Further columns are further translations; CR LF and a BOM are not text; U+2028 doesn't end a line."""
    content = "\ufeffone\tuno\r\ntwo\tdue\tun paio\nthree\u2028lines\ttre\n\tnothing\n".encode()
    path = write(tmp_path / name, content)
    assert texts(path) == [
        ("one", "uno"),
        ("two", "due"),
        ("two", "un paio"),
        ("three\u2028lines", "tre"),
        ("", "nothing"),
    ]
    assert [pair.place for pair in read_pairs(path)] == [f"{path}:{n}" for n in (1, 2, 2, 3, 4)]


def test_a_line_without_a_tab_comes_with_its_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", b"one\tuno\nonly English\n")
    assert [pair.fault for pair in read_pairs(path)] == ["", NO_TAB]


def test_invalid_utf_8_can_be_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.tsv", b"caf\xe9\tcaff\xc3\xa8\n")
    assert texts(path) == [("caf\ufffd", "caffè")]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_aligned_files(tmp_path: Path, ending: str) -> None:
    english = write(tmp_path / f"europarl.it-en.en{ending}", b"one\ntwo\twith a tab\n\nlast")
    italian = write(tmp_path / f"europarl.it-en.it{ending}", b"uno\r\ndue\n\nultimo\n")
    assert texts(english, italian) == [
        ("one", "uno"),
        ("two\twith a tab", "due"),
        ("", ""),
        ("last", "ultimo"),
    ]


@pytest.mark.parametrize("n_source, n_target", [(3, 5), (5, 3)])
def test_files_that_are_not_aligned_are_refused(tmp_path: Path, n_source: int, n_target: int) -> None:
    english = write(tmp_path / "a.en", b"word\n" * n_source)
    italian = write(tmp_path / "a.it", b"parola\n" * n_target)
    with pytest.raises(CorpusError, match=f"a.en has {n_source} lines and .*a.it {n_target}: not aligned"):
        list(read_pairs(english, italian))


def test_reading_is_streamed(tmp_path: Path) -> None:
    """The first pairs of a damaged file are still read."""
    whole = gzip.compress(b"".join(b"word %d\tparola %d\n" % (i, i * 7919) for i in range(50_000)))
    path = tmp_path / "cut.tsv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    pairs = read_pairs(path)
    assert next(pairs).target == "parola 0"
    with pytest.raises(CorpusError, match=r"is damaged after line [\d,]{5,} .*fetch it again"):
        list(pairs)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda folder: folder / "missing.tsv", "There is no file"),
        (lambda folder: folder, "is a folder: name the file in it"),
        (lambda folder: write(folder / "empty.tsv", b""), "is empty"),
        (lambda folder: write(folder / "empty.tsv.gz", b""), "is empty"),
        (lambda folder: write(folder / "corpus.zip", b"PK\x03\x04rest"), "is a zip archive"),
        (lambda folder: write(folder / "corpus.xz", b"\xfd7zXZ\x00rest"), "is packed by xz"),
        (lambda folder: write(folder / "a.tsv", "one\tuno".encode("utf-16")), "is in UTF-16"),
        (
            lambda folder: write(folder / "a.tsv", b"a\tb\n" + b"x" * (LONGEST_LINE + 1)),
            "a.tsv:2 is longer than",
        ),
    ],
)
def test_files_that_can_not_be_read(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(CorpusError, match=message):
        list(read_pairs(make(tmp_path)))


def test_one_file_or_two() -> None:
    with pytest.raises(CorpusError, match="not in 3"):
        list(read_pairs(Path("a"), Path("b"), Path("c")))
    with pytest.raises(CorpusError, match="a TSV file has both sides"):
        list(read_pairs(Path("train.tsv"), Path("valid.tsv.gz")))


def test_gzip_is_recognised_by_the_first_bytes_and_not_by_the_name(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", b"one\tuno\n").rename(tmp_path / "plain.tsv.gz")
    packed = write(tmp_path / "packed.gz", b"one\tuno\n").rename(tmp_path / "packed.tsv")
    assert texts(plain) == texts(packed) == [("one", "uno")]


def test_references_of_neighbouring_lines_and_further_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "test.tsv", "hi\tciao\nhi\tsalve\tehi\nbye\tciao\nhi\tehilà\n".encode())
    assert list(read_references(path)) == [
        Referenced("hi", ("ciao", "salve", "ehi"), f"{path}:1"),
        Referenced("bye", ("ciao",), f"{path}:3"),
        Referenced("hi", ("ehilà",), f"{path}:4"),
    ]


@pytest.mark.parametrize(
    "line, fault", [("bye", "no tab"), ("bye\t", "an empty side"), ("\tciao", "an empty")]
)
def test_references_leave_nothing_out(tmp_path: Path, line: str, fault: str) -> None:
    path = write(tmp_path / "test.tsv", f"hi\tciao\n{line}\n".encode())
    with pytest.raises(CorpusError, match=rf"test\.tsv:2 has {fault}"):
        list(read_references(path))
