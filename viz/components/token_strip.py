"""A sentence as the model gets it: its tokens as chips with position and id, drawn in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viz.components.client_view import ClientView
from viz.components.colors import CellColors, color_data
from viz.components.frame import brief, pack_frame


@dataclass(frozen=True)
class StripToken:
    """One token of the strip."""

    text: str
    """As typed, with invisible characters already made visible."""
    token_id: int
    unknown: bool = False
    """The vocabulary lacks it: the model gets <unk> instead."""
    special: bool = False
    """Added by the program, such as <eos>."""

    @property
    def kind(self) -> str:
        """How the chip looks: "unknown", "special" or "word"."""
        return "unknown" if self.unknown else "special" if self.special else "word"


_VIEW = ClientView("token_strip")


def token_strip(tokens: Sequence[StripToken], *, colors: CellColors, key: str, title: str = "Tokens") -> None:
    """Draw the tokens as chips that wrap: the position above, the id in the vocabulary below.

    An unknown word is marked by stripes, a dashed border and the word "unknown"; a special token by its
    round, dashed chip. More than a few lines scroll. Nothing is selected here, so nothing is sent back.

    Args:
        tokens: the tokens in order; positions count from 0.
        colors: the colours of the current theme.
        key: the view's identity on the page.
        title: what the tokens are, for screen readers.
    """
    note = "Above each token its position, below it its number (id) in the vocabulary."
    n_unknown = sum(token.unknown for token in tokens)
    if n_unknown:
        words = "1 word is" if n_unknown == 1 else f"{n_unknown} words are"
        note += (
            f" {words} not in the vocabulary: the model gets <unk> there and cannot tell one from another."
        )
    data = {
        "colors": color_data(colors),
        "title": title,
        "note": note,
        "tokens": [[brief(token.text), token.token_id, token.kind] for token in tokens],
    }
    _VIEW.show(pack_frame(data, {}), key=key)
