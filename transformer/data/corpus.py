"""Reads sentence pairs from files one at a time, so a corpus may be larger than memory.

Two layouts are read, plain or gzipped, in UTF-8: one file of tab-separated columns (a source and one or more
translations per line), and two aligned files with one sentence per line (as in Moses and Europarl).

Unusual files:

- CR LF, a byte order mark, no line end after the last line: ignored;
- U+2028, U+0085 and the like: ordinary characters, not line ends;
- a line without a tab: a pair with a fault, which a filter counts; nothing before or after the tab: an empty
  side;
- invalid UTF-8: U+FFFD, which a filter sees;
- a file that is missing, empty, damaged or compressed other than by gzip, or two of different lengths: a
  CorpusError.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import groupby, zip_longest
from pathlib import Path

NO_TAB = "no tab"
"""Fault of a line without a second column."""

LONGEST_LINE = 1 << 20
"""Longest line in bytes, so that a file without line ends, which may exceed memory, is not read whole."""

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_GZIP = b"\x1f\x8b"
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "packed by bzip2",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"\xff\xfe": "in UTF-16",
    b"\xfe\xff": "in UTF-16",
}
"""First bytes of files in which every line would be faulty -> kind of file."""
_N_HEAD = max(map(len, _OTHER_KINDS))


class CorpusError(ValueError):
    """Files that can't be read as sentence pairs; the message says where and what to do."""


@dataclass(frozen=True)
class TextPair:
    """A sentence and one translation, as in the files.

    Attributes:
        source, target: the texts without line ends; invalid UTF-8 is U+FFFD.
        place: file and line, for messages.
        fault: what is wrong with the line; empty if nothing.
    """

    source: str
    target: str
    place: str
    fault: str = ""


@dataclass(frozen=True)
class Referenced:
    """A sentence and all its translations.

    Attributes:
        source: the sentence.
        references: its translations, at least one.
        place: file and line of the first pair, for messages.
    """

    source: str
    references: tuple[str, ...]
    place: str


def read_pairs(*paths: Path) -> Iterator[TextPair]:
    """Read all pairs of one tab-separated file or two aligned files, in order.

    A line with several translations gives one pair per translation. Nothing is left out: a line without a tab
    has a fault, so that a filter can count it.

    Raises:
        CorpusError: for a file that is missing, damaged, empty or a folder, and for two files of different
            lengths.
    """
    if len(paths) not in (1, 2):
        raise CorpusError(f"Sentence pairs are in one file or in two aligned ones, not in {len(paths)}.")
    if len(paths) == 2 and all(path.name.endswith((".tsv", ".tsv.gz")) for path in paths):
        raise CorpusError(
            f"{paths[0]} and {paths[1]} would be read as the two sides of the same pairs, but a TSV file has "
            "both sides: give one file at a time."
        )
    yield from _read_columns(paths[0]) if len(paths) == 1 else _read_aligned(*paths)


def read_references(*paths: Path) -> Iterator[Referenced]:
    """Read each source with all its translations, from its line and adjacent lines with the same source.

    Raises:
        CorpusError: as `read_pairs` does, and for a line without a tab or with an empty side: a score covers
            every line.
    """
    for source, pairs in groupby(read_pairs(*paths), key=lambda pair: pair.source):
        found = tuple(pairs)
        for pair in found:
            fault = pair.fault or ("" if pair.source.strip() and pair.target.strip() else "an empty side")
            if fault:
                raise CorpusError(f"{pair.place} has {fault}: give it a sentence and a translation.")
        yield Referenced(source, tuple(pair.target for pair in found), found[0].place)


def _read_columns(path: Path) -> Iterator[TextPair]:
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        source, *targets = line.split("\t")
        if not targets:
            yield TextPair(source, "", place, NO_TAB)
            continue
        for target in [target for target in targets if target] or [""]:
            yield TextPair(source, target, place)


def _read_aligned(source_path: Path, target_path: Path) -> Iterator[TextPair]:
    n_lines = [0, 0]
    for source, target in zip_longest(numbered_lines(source_path), numbered_lines(target_path)):
        if source is not None:
            n_lines[0] = source[0]
        if target is not None:
            n_lines[1] = target[0]
        if source is not None and target is not None:
            yield TextPair(source[1], target[1], f"{source_path}:{source[0]}")
    if n_lines[0] != n_lines[1]:
        raise CorpusError(
            f"{source_path} has {n_lines[0]:,} lines and {target_path} {n_lines[1]:,}: not aligned line "
            "by line. Fetch both again, or make sure that they belong together."
        )


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and read the lines of a file, plain or gzipped; a line ends at LF or CR LF and nowhere else.

    Raises:
        CorpusError: for a file that is missing, damaged, empty or a folder.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            for number, line in enumerate(_raw_lines(raw, path), start=1):
                if len(line) > LONGEST_LINE:
                    raise CorpusError(
                        f"{path}:{number} is longer than {LONGEST_LINE:,} bytes: no file of sentences "
                        "has such lines. Check that it is the right one."
                    )
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace")
                yield number, text.removeprefix(_BOM) if number == 1 else text
    except FileNotFoundError as error:
        raise CorpusError(f"There is no file {path}: check its name.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path} is a folder: name the file in it.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"{path} is damaged after line {number:,} ({error}): fetch it again.") from error
    except OSError as error:
        raise CorpusError(f"{path} can't be read ({error.strerror or error}).") from error
    if number == 0:
        raise CorpusError(f"{path} is empty: there is nothing to read in it.")


def _raw_lines(raw: BufferedReader, path: Path) -> Iterator[bytes]:
    """The lines of a file, decompressed if gzipped; too long lines are truncated."""
    head = raw.peek(_N_HEAD)[:_N_HEAD]
    for beginning, kind in _OTHER_KINDS.items():
        if head.startswith(beginning):
            raise CorpusError(f"{path} is {kind}: turn it into plain text in UTF-8, or into gzipped text.")
    file = BufferedReader(gzip.GzipFile(fileobj=raw)) if head.startswith(_GZIP) else raw
    return iter(partial(file.readline, LONGEST_LINE + 1), b"")
