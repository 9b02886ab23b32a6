"""Challenge sets: sentences by kind of difficulty, with the words that a right translation must contain.

BLEU and chrF measure similarity to references over a whole corpus, so a single wrong name, number or tense
hardly changes them (Isabelle et al. 2017, arXiv:1704.07431).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from transformer.data.corpus import CorpusError
from transformer.training.evaluation.translations import sentence_chrf

COLUMNS = ("category", "source", "kept", "references")
_LONGEST_LOOP = 8
"""Longest repeated phrase that counts as a loop, in words."""


@dataclass(frozen=True)
class Challenge:
    """A sentence with one kind of difficulty.

    Attributes:
        category: the kind of difficulty.
        source: the sentence to translate.
        kept: phrases that a right translation must contain, each with its alternatives.
        references: accepted translations.
    """

    category: str
    source: str
    kept: tuple[tuple[str, ...], ...]
    references: tuple[str, ...]

    def contains(self, translation: str) -> list[bool]:
        """For each phrase, True if the translation contains it, ignoring case."""
        return [any(_is_in(word, translation) for word in words) for words in self.kept]


@dataclass(frozen=True)
class CategoryScores:
    """The scores of one category.

    Attributes:
        category: its name.
        sentences: number of sentences.
        kept: number of required phrases that the translations contain.
        pieces: number of required phrases.
        chrf: mean sentence chrF against the nearest reference, 0 to 100.
        loops: number of translations with a loop (`is_loop`).
    """

    category: str
    sentences: int
    kept: int
    pieces: int
    chrf: float
    loops: int


def read_challenges(path: Path) -> list[Challenge]:
    """Read a TSV file with `COLUMNS`, sorted by category.

    In the column "kept", phrases are separated by "; " and their alternatives by "/"; references by " | ".

    Raises:
        CorpusError: for a file that can't be read or is not such a table; the message names the line.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} can't be read ({error}): check its name.") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise CorpusError(
            f"{path} is no challenge set: its first line has to be {' '.join(COLUMNS)}, with tabs."
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(COLUMNS) or not all(cell.strip() for cell in row):
            raise CorpusError(f"{path}:{number} does not have {len(COLUMNS)} non-empty columns.")
    return [_challenge(*row) for row in rows[1:]]


def _challenge(category: str, source: str, kept: str, references: str) -> Challenge:
    pieces = tuple(tuple(piece.split("/")) for piece in kept.split("; "))
    return Challenge(category, source, pieces, tuple(references.split(" | ")))


def challenge_scores(challenges: Sequence[Challenge], translated: Sequence[str]) -> list[CategoryScores]:
    """Score translations by category."""
    chrf = sentence_chrf(translated, [challenge.references for challenge in challenges])
    found = []
    for category, group in groupby(
        zip(challenges, translated, chrf, strict=True), lambda one: one[0].category
    ):
        own = list(group)
        found_pieces = [
            is_there for challenge, translation, _ in own for is_there in challenge.contains(translation)
        ]
        found.append(
            CategoryScores(
                category,
                sentences=len(own),
                kept=sum(found_pieces),
                pieces=len(found_pieces),
                chrf=sum(score for *_, score in own) / len(own),
                loops=sum(is_loop(translation) for _, translation, _ in own),
            )
        )
    return found


def overall_scores(scores: Iterable[CategoryScores]) -> CategoryScores:
    """The scores over all categories."""
    scores = list(scores)
    sentences = sum(one.sentences for one in scores)
    return CategoryScores(
        "all",
        sentences,
        kept=sum(one.kept for one in scores),
        pieces=sum(one.pieces for one in scores),
        chrf=sum(one.chrf * one.sentences for one in scores) / sentences,
        loops=sum(one.loops for one in scores),
    )


def is_loop(text: str) -> bool:
    """True if one to three words occur three times in a row, or four or more words twice in a row."""
    words = re.findall(r"\w+", text.lower())
    for size in range(1, _LONGEST_LOOP + 1):
        times = 3 if size < 4 else 2
        for start in range(len(words) - size * times + 1):
            if words[start : start + size] * times == words[start : start + size * times]:
                return True
    return False


def _is_in(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None
