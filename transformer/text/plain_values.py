"""Converts coders to and from plain values; vocabulary.json stores one coder per side of a model."""

from __future__ import annotations

from typing import Any

from transformer.errors import TextError
from transformer.text.coder import Coder, SentenceCoder
from transformer.text.subwords import SubwordCoder, SubwordVocabulary
from transformer.text.vocabulary import Vocabulary
from transformer.text.words import WordTokenizer


def to_plain(coder: Coder) -> dict[str, Any]:
    """The plain values of a coder: its language, and its words or its pieces and merges.

    Raises:
        TypeError: for another library's coder.
    """
    if not isinstance(coder, SentenceCoder | SubwordCoder):
        raise TypeError(f"{type(coder).__name__} can't be written to a file.")
    plain: dict[str, Any] = {"language": coder.tokenizer.language, "lowercase": coder.tokenizer.lowercase}
    if isinstance(coder, SentenceCoder):
        return plain | {"words": coder.vocabulary.to_list()}
    pieces, merges = coder.vocabulary.to_lists()
    return plain | {"pieces": pieces, "merges": [f"{left} {right}" for left, right in merges]}


def from_plain(plain: Any) -> Coder:
    """The inverse of `to_plain`.

    Raises:
        TextError: for invalid values.
    """
    language, lowercase = _value(plain, "language", str), _value(plain, "lowercase", bool)
    tokenizer = WordTokenizer(language, lowercase=lowercase)
    if "words" in plain:
        return SentenceCoder(tokenizer, Vocabulary.from_list(_strings(plain, "words")))
    merges = [merge.split(" ") for merge in _strings(plain, "merges")]
    if any(len(merge) != 2 for merge in merges):
        raise TextError("a merge is two pieces with a space between them")
    pairs = [(left, right) for left, right in merges]
    return SubwordCoder(tokenizer, SubwordVocabulary(_strings(plain, "pieces"), pairs))


def _value(plain: Any, name: str, kind: type) -> Any:
    if not isinstance(plain, dict) or not isinstance(plain.get(name), kind):
        raise TextError(f"it has no {name}")
    return plain[name]


def _strings(plain: Any, name: str) -> list[str]:
    strings: list[str] = _value(plain, name, list)
    try:
        "".join(strings).encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise TextError(f"its {name} are not all text") from error
    return strings
