"""The next-token distribution under temperature, top-k and top-p, adjusted in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import JSON, ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme

Stop = TypeVar("Stop", int, float)

TEMPERATURES = tuple(round(0.05 * step, 2) for step in range(1, 61))
TOP_PS = (*(round(0.05 * step, 2) for step in range(1, 20)), 0.99, 1.0)
TOP_KS = (*range(1, 21), 25, 30, 40, 50, 75, 100, 200, 500, 0)
"""0 keeps all."""


@dataclass(frozen=True)
class Reshaping:
    """Settings that reshape a distribution before a token is drawn.

    Attributes:
        temperature: divides the logits: one of TEMPERATURES.
        top_k: the number of most probable tokens kept, 0 for all: one of TOP_KS.
        top_p: the total probability of the most probable tokens kept: one of TOP_PS.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


@dataclass(frozen=True)
class TokenChoice:
    """A request to continue with a token: its rank in the distribution, from 0."""

    rank: int


NextTokensSelection: TypeAlias = Reshaping | TokenChoice

_LABELS = {
    "temperature": ("temperature", "divides the logits: below 1 the best gain, above 1 the others"),
    "top_k": ("top-k", "only the k most probable tokens stay"),
    "top_p": ("top-p", "only the most probable tokens stay that together have this probability"),
}
_VIEW = ClientView("next_tokens")


def next_tokens(
    logits: NDArray[np.float32],
    tokens: Sequence[str],
    *,
    open_tokens: Sequence[bool],
    chosen: int | None,
    settings: Reshaping,
    colors: Theme,
    key: str,
    title: str = "The next token",
    note: str = "",
    on_select: Callable[[NextTokensSelection], None] | None = None,
) -> None:
    """Draw the most probable tokens as bars, and three sliders that reshape the distribution.

    The bars follow the sliders in the browser, over the whole vocabulary; Python receives the settings when a
    slider is released. Tokens that are cut off keep their outline and name the cut, and the probability cut
    off is shown. A click on a token asks to continue with it.

    Args:
        logits: (V,) of every possible next token, sorted, the largest first.
        tokens: the first tokens' texts, with invisible characters already made visible.
        open_tokens: for each of those, whether another token may follow it.
        chosen: the index of the token marked as taken; None if it is not among them.
        settings: the sliders' settings. The sliders move if these change; the user's own take effect at once.
        title: a name for screen readers.
        note: a sentence below them.
        on_select: called with the settings or the request, before the run that it starts.

    Raises:
        ValueError: the logits are not sorted, or there are too many names or flags.
    """
    if len(tokens) != len(open_tokens) or len(tokens) > len(logits):
        raise ValueError(f"{len(tokens)} names and {len(open_tokens)} flags for {len(logits)} logits")
    if (np.diff(logits) > 0).any():
        raise ValueError("the logits are not sorted, the largest first")
    data = {
        "colors": color_data(colors),
        "title": title,
        "note": note,
        "tokens": list(map(brief, tokens)),
        "open": list(open_tokens),
        "chosen": chosen,
        "settings": vars(settings),
        "stops": {"temperature": TEMPERATURES, "top_k": TOP_KS, "top_p": TOP_PS},
        "labels": {name: {"label": label, "help": text} for name, (label, text) in _LABELS.items()},
    }

    def parse(value: JSON) -> NextTokensSelection:
        if "token" in value:
            return TokenChoice(index(value["token"], len(tokens)))
        return Reshaping(
            one_of(value["temperature"], TEMPERATURES),
            one_of(value["top_k"], TOP_KS),
            one_of(value["top_p"], TOP_PS),
        )

    frame = pack_frame(data, {"logits": logits.astype(np.float32)})
    _VIEW.mount(frame, key=key, parse=parse, on_select=on_select)


def one_of(value: JSON, stops: Sequence[Stop]) -> Stop:
    """Check that a value is one of a slider's stops.

    Raises:
        ValueError: it is not; a browser may send what the view itself never would.
    """
    if isinstance(value, bool) or value not in stops:
        raise ValueError(f"not a stop of the slider: {value!r}")
    return stops[stops.index(value)]
