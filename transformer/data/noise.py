"""Typing noise: sentences without the full stop, in lower case, with a phone's curly apostrophes."""

from __future__ import annotations

from random import Random


def add_typing_noise(sentence: str, rng: Random) -> str:
    """Type a well-written sentence in a hurry; the sentence itself where nothing can be left out.

    A model that is trained on some such sources, with their careful translations, translates a person who
    types in a hurry: in a corpus of written sentences "ciao" never begins one.
    """
    first, rest = sentence[:1], sentence[1:]
    ways = [
        sentence.rstrip(".!?"),
        first.lower() + rest,
        sentence.lower(),
        sentence.lower().rstrip(".!?"),
        sentence.replace("'", "’"),
        (first.lower() + rest).replace("'", "’").rstrip(".!?"),
    ]
    changed = [way for way in ways if way.strip() and way != sentence]
    return rng.choice(changed) if changed else sentence
