"""Sentence pairs from files, one at a time: a corpus may be larger than memory.

Two layouts are read, plain or gzipped, in UTF-8: one file of tab-separated columns (a source and one or more
translations a line), and two aligned files with a sentence a line (as Moses and Europarl have them).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path

NO_TAB = "no tab"
"""The fault of a line that has no second column."""

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class CorpusError(ValueError):
    """Files that can't be read as sentence pairs; the message says where and what to do."""


@dataclass(frozen=True)
class TextPair:
    """A sentence and one translation, as they stand in the files.

    Attributes:
        source, target: without line ends; bytes that are no UTF-8 have become U+FFFD.
        place: the file and line, for messages.
        fault: what is wrong with the line; empty if nothing is.
    """

    source: str
    target: str
    place: str
    fault: str = ""


def read_pairs(*paths: Path) -> Iterator[TextPair]:
    """Read all pairs of one tab-separated file or of two aligned files, in their order.

    A line with several translations makes a pair of each. Nothing is left out: a line without a tab comes
    with its fault, so that a filter can count it.

    Raises:
        CorpusError: for a file that is missing, no file, damaged, or empty, and for two files that have not
            equally many lines.
    """
    if len(paths) not in (1, 2):
        raise CorpusError(f"Sentence pairs are in one file or in two aligned ones, not in {len(paths)}.")
    yield from _read_columns(paths[0]) if len(paths) == 1 else _read_aligned(*paths)


def read_references(*paths: Path) -> Iterator[tuple[str, list[str]]]:
    """Read each source with all its translations: those of its line and of the lines next to it.

    Raises:
        CorpusError: as `read_pairs` does, and for a line without a tab: a score must not leave out any.
    """
    for source, pairs in groupby(read_pairs(*paths), key=lambda pair: pair.source):
        references = []
        for pair in pairs:
            if pair.fault:
                raise CorpusError(
                    f"{pair.place} has {pair.fault}: give it a source, a tab and a translation."
                )
            references.append(pair.target)
        yield source, references


def _read_columns(path: Path) -> Iterator[TextPair]:
    for number, line in _lines(path):
        place = f"{path}:{number}"
        source, *targets = line.split("\t")
        if not targets:
            yield TextPair(source, "", place, NO_TAB)
        for target in targets:
            if target or len(targets) == 1:
                yield TextPair(source, target, place)


def _read_aligned(source_path: Path, target_path: Path) -> Iterator[TextPair]:
    n_lines = [0, 0]
    for source, target in zip_longest(_lines(source_path), _lines(target_path)):
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


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and read the lines of a file; a line ends at LF or CR LF and nowhere else."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace")
                yield number, text.removeprefix(_BOM) if number == 1 else text
    except FileNotFoundError as error:
        raise CorpusError(f"There is no file {path}: check its name.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path} is a folder: name the file in it.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(
            f"{path} is damaged behind line {number:,} ({error}): fetch it again, or rename it if it is not "
            "gzipped at all."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} can't be read ({error.strerror or error}).") from error
    if number == 0:
        raise CorpusError(f"{path} is empty: there is nothing to read in it.")
