"""Sentences joined into longer ones: a corpus of sentences of seven words teaches nothing about fifty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import TypeAlias

Pair: TypeAlias = tuple[str, str]
"""A sentence and its translation."""

MOST_WORDS = 60
CONJOINED = 0.5
"""The share of sentences that a conjunction is tried with."""

_CONJUNCTIONS = (
    (", and ", " e "), (" and ", " e "), (", but ", ", ma "), (" but ", " ma "), (" because ", " perché "),
    (", so ", ", quindi "), (" while ", " mentre "), ("; ", "; "), (", and then ", " e poi "),
    (", or ", " o "), (", because ", ", perché "), (", so ", ", così "),
)  # fmt: skip
LOWERED = frozenset(
    "the a an this that these those he she it we you they his her its our your their my there here what "
    "who why how when where which if some all many most nobody everyone everybody someone somebody "
    "nothing everything both no not to in on at from with for one two three do does did is are was were "
    "can could would should will have has had il lo la l' i gli le un uno una un' questo questa questi "
    "queste quel quello quella quei quegli quelle lui lei noi voi loro io tu mio mia miei mie tuo tua suo "
    "sua suoi sue nostro nostra vostro vostra c' ci ce chi che cosa come dove quando perché quale quanto "
    "quanta quanti quante se ogni tutti tutte tutto nessuno qualcuno niente nulla non è era erano sono "
    "ero eri sei siamo siete ho hai ha abbiamo avete hanno avevo aveva avevano devo devi deve può posso "
    "puoi possiamo vuole voglio vuoi vorrei mi ti si vi li ne in a da di con per su del della dei delle "
    "al alla nel nella sul sulla anche solo sta sto stai stanno fa fanno va vado".split()
)
"""First words that are written with a capital at the beginning of a sentence only."""
_ENDS = ".!?"
_FIRST = re.compile(r"[\w']+?(?:'|\b)")


def join(pairs: Sequence[Pair], rng: Random) -> Pair | None:
    """Make one text of some sentences: some joined by a conjunction, some left one after the other.

    Returns None if it would have more than `MOST_WORDS`, or a sentence is not ended where another one begins.
    """
    joined = pairs[0]
    for following in pairs[1:]:
        longer = None
        if rng.random() < CONJOINED:
            longer = conjoined(joined, following, rng.choice(_CONJUNCTIONS))
        if longer is None:
            if any(side[-1] not in _ENDS for side in joined):
                return None
            longer = f"{joined[0]} {following[0]}", f"{joined[1]} {following[1]}"
        joined = longer
    return joined if max(len(side.split()) for side in joined) <= MOST_WORDS else None


def conjoined(before: Pair, following: Pair, between: Pair) -> Pair | None:
    """Two statements as one; None where one is none, or begins with what may be a name.

    Args:
        before, following: the statements.
        between: what joins them, on each side.
    """
    if not all(side.endswith(".") for side in before) or before[0].endswith("..."):
        return None
    source, target = _lowered(following[0]), _lowered(following[1])
    if source is None or target is None:
        return None
    word, parola = between
    if parola == " e " and target.startswith("e"):
        parola = " ed "
    return f"{before[0][:-1]}{word}{source}", f"{before[1][:-1]}{parola}{target}"


def _lowered(sentence: str) -> str | None:
    """A statement as it continues after a comma; None for a question, and for what may begin with a name."""
    first = _FIRST.match(sentence)
    if first is None or not sentence.endswith("."):
        return None
    if first[0] in ("I", "I'"):
        return sentence
    return sentence[0].lower() + sentence[1:] if first[0].lower() in LOWERED else None
