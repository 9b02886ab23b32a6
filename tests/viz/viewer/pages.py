"""What the tests of saved pages share: small runs, hostile text, and the elements of a page."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser

import numpy as np
from numpy.typing import NDArray

import headlight
from tests.support.models import tiny_model
from viz.viewer.page import Heading
from viz.viewer.viewer_run import ViewerRun, view_run

HOSTILE = '<script>alert(1)</script> </script> "><img src=x onerror=alert(2)> \u202eabc\x00\ud800 &amp;'
HEADING = Heading("I saw a cat.", "Ho visto un gatto.", "tiny")


def tiny() -> ViewerRun:
    loaded = tiny_model()
    return view_run(headlight.run(loaded, "the cat saw a dog").computed, loaded)


def random_weights(layers: int, heads: int, tokens: int) -> list[NDArray[np.float32]]:
    scores = np.random.default_rng(5).normal(0, 2, (layers, heads, tokens, tokens)).astype(np.float32)
    raised = np.exp(scores)
    return list((raised / raised.sum(-1, keepdims=True)).astype(np.float32))


def to_fixed(value: float, decimals: int) -> Decimal:
    """Round as a browser does: halves go up."""
    return Decimal(value).quantize(Decimal(10) ** -decimals, ROUND_HALF_UP)


class Elements(HTMLParser):
    """The elements of a page, as a browser parses them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
