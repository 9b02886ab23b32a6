"""Sentences joined into longer ones: a corpus of sentences of seven words teaches nothing about fifty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

MOST_WORDS = 60
_CONJUNCTIONS = (
    (", and ", " e "), (" and ", " e "), (", but ", ", ma "), (" but ", " ma "), (" because ", " perché "),
    (", so ", ", quindi "), (" while ", " mentre "), ("; ", "; "), (", and then ", " e poi "),
    (", or ", " o "), (", because ", ", perché "), (", so ", ", così "),
)  # fmt: skip
_LOWERED = frozenset(
    "the a an this that these those he she it we you they his her its our your their my there here what who why how "
    "when where which if some all many most nobody everyone everybody someone somebody nothing everything both no not "
    "to in on at from with for one two three do does did is are was were can could would should will have has had "
    "il lo la l' i gli le un uno una un' questo questa questi queste quel quello quella quei quegli quelle lui lei noi "
    "voi loro io tu mio mia miei mie tuo tua suo sua suoi sue nostro nostra vostro vostra c' ci ce chi che cosa come "
    "dove quando perché quale quanto quanta quanti quante se ogni tutti tutte tutto nessuno qualcuno niente nulla non "
    "è era erano sono ero eri sei siamo siete ho hai ha abbiamo avete hanno avevo aveva avevano devo devi deve può "
    "posso puoi possiamo vuole voglio vuoi vorrei mi ti si vi li ne in a da di con per su del della dei delle al alla "
    "nel nella sul sulla anche solo sta sto stai stanno fa fanno va vado".split()
)
"""First words that are written with a capital at the beginning of a sentence only."""
_ENDS = ".!?"
_FIRST = re.compile(r"[\w']+?(?:'|\b)")


def join(pairs: Sequence[tuple[str, str]], rng: Random) -> tuple[str, str] | None:
    """Make one text of some sentences: some joined by a conjunction, some left one after the other.

    Returns None if it would have more than `MOST_WORDS`, or a sentence is not ended where another one begins.
    """
    source, target = pairs[0]
    for following, continuing in pairs[1:]:
        if (
            rng.random() < 0.5
            and source.endswith(".")
            and target.endswith(".")
            and not source.endswith("...")
        ):
            lowered = _lowered(following), _lowered(continuing)
            if None not in lowered:
                word, parola = rng.choice(_CONJUNCTIONS)
                if parola == " e " and str(lowered[1]).startswith("e"):
                    parola = " ed "
                source, target = f"{source[:-1]}{word}{lowered[0]}", f"{target[:-1]}{parola}{lowered[1]}"
                continue
        if source[-1] not in _ENDS or target[-1] not in _ENDS:
            return None
        source, target = f"{source} {following}", f"{target} {continuing}"
    return (source, target) if max(len(source.split()), len(target.split())) <= MOST_WORDS else None


def _lowered(sentence: str) -> str | None:
    """A sentence as it goes on after a comma; None where its first word may be a name, or it is a question."""
    first = _FIRST.match(sentence)
    if first is None or not sentence.endswith("."):
        return None
    if first[0] in ("I", "I'"):
        return sentence
    return sentence[0].lower() + sentence[1:] if first[0].lower() in _LOWERED else None
