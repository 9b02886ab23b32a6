"""The two libraries that only making data needs: how frequent a word is, and how English words are inflected.

They are in requirements-data.txt. What needs them takes `Libraries`, so that all the rest does without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "it"]
InflectedForm: TypeAlias = Literal["NNS", "VBZ", "VBG"]
"""Plural, third person singular, present participle, by their tags in the Penn Treebank."""

NAMES = ("lemminflect", "wordfreq")


class MissingLibraryError(RuntimeError):
    """A library that is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Libraries:
    """What is asked of the libraries.

    Attributes:
        frequency: of a word in a language, on the Zipf scale: the power of ten of its occurrences in a
            thousand million words; 0 for one that is not known (wordfreq, Speer 2022).
        inflect: a form of an English word, from a lexicon, or by rule for what is not in it (lemminflect).
    """

    frequency: Callable[[str, Language], float]
    inflect: Callable[[str, InflectedForm], str]


def load_libraries(find: Callable[[str], object | None] = find_spec) -> Libraries:
    """Import the libraries.

    Args:
        find: tells whether there is a library of a name, as `importlib.util.find_spec` does.

    Raises:
        MissingLibraryError: where one of them is not installed.
    """
    missing = [name for name in NAMES if find(name) is None]
    if missing:
        raise MissingLibraryError(
            f"Making pairs needs {' and '.join(missing)}, not installed with the rest: "
            "pip install -r requirements-data.txt or, where there is no checkout, "
            f"pip install {' '.join(missing)}."
        )
    from lemminflect import getInflection
    from wordfreq import zipf_frequency

    return Libraries(zipf_frequency, lambda word, form: str(getInflection(word, form)[0]))
