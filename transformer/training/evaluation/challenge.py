"""A challenge set: sentences by what is hard about them, and what every right translation of them must hold.

BLEU and chrF over a corpus say how alike translations are to their references; whether a name, a number or
a verb's tense came through is one word of a sentence, which hardly moves them (Isabelle et al. 2017,
arXiv:1704.07431).
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
"""Words."""


@dataclass(frozen=True)
class Challenge:
    """A sentence that is hard in one way.

    Attributes:
        category: in which.
        source: to be translated.
        kept: what a right translation holds: pieces of whole words, each with its alternatives.
        references: accepted translations.
    """

    category: str
    source: str
    kept: tuple[tuple[str, ...], ...]
    references: tuple[str, ...]

    def held(self, translation: str) -> list[bool]:
        """Of each piece whether a translation holds it, capitals aside."""
        return [any(_is_in(word, translation) for word in words) for words in self.kept]


@dataclass(frozen=True)
class CategoryScores:
    """What became of one category.

    Attributes:
        category: its name.
        sentences: how many it has.
        kept: how many pieces are there.
        pieces: of how many.
        chrf: the mean of the sentences', each against the reference that it is most like; from 0 to 100.
        loops: translations that run in circles.
    """

    category: str
    sentences: int
    kept: int
    pieces: int
    chrf: float
    loops: int


def read_challenges(path: Path) -> list[Challenge]:
    """Read a table of challenges: a TSV file with `COLUMNS`, those of a category one after the other.

    In the column "kept" pieces are separated by "; " and their alternatives by "/"; references by " | ".

    Raises:
        CorpusError: for a file that can't be read, or is no such table; the message says which line.
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
            raise CorpusError(f"{path}:{number} has not {len(COLUMNS)} columns with something in each.")
    return [_challenge(*row) for row in rows[1:]]


def _challenge(category: str, source: str, kept: str, references: str) -> Challenge:
    pieces = tuple(tuple(piece.split("/")) for piece in kept.split("; "))
    return Challenge(category, source, pieces, tuple(references.split(" | ")))


def challenge_scores(challenges: Sequence[Challenge], translated: Sequence[str]) -> list[CategoryScores]:
    """Score the translations of all challenges, category by category."""
    chrf = sentence_chrf(translated, [challenge.references for challenge in challenges])
    found = []
    for category, group in groupby(
        zip(challenges, translated, chrf, strict=True), lambda one: one[0].category
    ):
        own = list(group)
        held = [is_held for challenge, translation, _ in own for is_held in challenge.held(translation)]
        found.append(
            CategoryScores(
                category,
                sentences=len(own),
                kept=sum(held),
                pieces=len(held),
                chrf=sum(score for *_, score in own) / len(own),
                loops=sum(is_loop(translation) for _, translation, _ in own),
            )
        )
    return found


def in_all(scores: Iterable[CategoryScores]) -> CategoryScores:
    """All categories together."""
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
    """Whether some words come three times in a row, or four and more come twice in a row."""
    words = re.findall(r"\w+", text.lower())
    for size in range(1, _LONGEST_LOOP + 1):
        times = 3 if size < 4 else 2
        for start in range(len(words) - size * times + 1):
            if words[start : start + size] * times == words[start : start + size * times]:
                return True
    return False


def _is_in(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None
