"""A sentence as the model receives it: tokens as chips with position and id, drawn in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme


@dataclass(frozen=True)
class StripToken:
    """One token of the strip."""

    text: str
    """As typed, with invisible characters already made visible."""
    token_id: int
    unknown: bool = False
    """Not in the vocabulary: the model receives <unk> or the like instead."""
    special: bool = False
    """Added by the program, such as <eos>."""
    word: int | None = None
    """The index of the word it is part of; None for a word of its own."""

    @property
    def kind(self) -> str:
        """The kind of chip: "unknown", "special" or "word"."""
        return "unknown" if self.unknown else "special" if self.special else "word"


_VIEW = ClientView("token_strip")


def token_strip(
    tokens: Sequence[StripToken],
    *,
    colors: Theme,
    key: str,
    title: str = "Tokens",
    words: Sequence[str] = (),
    note: str = "",
    unknown_name: str = "<unk>",
    unit: str = "word",
    stack: str = "encoder",
) -> None:
    """Draw the tokens as chips that wrap: the position above, the id in the vocabulary below.

    An unknown word is marked by stripes, a dashed border and the word "unknown"; a special token by its
    round, dashed chip. The sub-words of a word share a frame with the word below. More than a few lines
    scroll. A click chooses the token for the page's other views, in the browser only.

    Args:
        tokens: the tokens in order; positions count from 0.
        title: a name for screen readers.
        words: the words that tokens are part of, with invisible characters already made visible.
        note: a further sentence for the line below.
        unknown_name: the token for words outside the vocabulary.
        unit: what such a word is called.
        stack: the stack that reads the tokens, "encoder" or "decoder".
    """
    data = {
        "colors": color_data(colors),
        "title": title,
        "stack": stack,
        "note": f"{_note(tokens, brief(unknown_name), unit)} {note}".strip(),
        "tokens": [[brief(token.text), token.token_id, token.kind] for token in tokens],
        "words": [["" if of is None else brief(words[of]), n] for of, n in _runs(tokens)],
    }
    _VIEW.show(pack_frame(data, {}), key=key)


def _runs(tokens: Sequence[StripToken]) -> list[tuple[int | None, int]]:
    """Return each run of tokens of one word: the word's index and the number of tokens."""
    return [(word, len(list(own))) for word, own in groupby(token.word for token in tokens)]


def _note(tokens: Sequence[StripToken], unknown_name: str, unit: str) -> str:
    note = "Above each token its position, below it its id in the vocabulary."
    n_unknown = sum(token.unknown for token in tokens)
    if not n_unknown:
        return note
    words = f"1 {unit} is" if n_unknown == 1 else f"{n_unknown} {unit}s are"
    return (
        f"{note} {words} not in the vocabulary: the model gets {unknown_name} there and cannot tell one from "
        "another."
    )
