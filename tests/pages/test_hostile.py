"""Whatever is typed, on any page and into any model: no page shows an exception or disappears.

Each place gets one text, and each text is typed somewhere; the full tier types every text everywhere.
"""

from __future__ import annotations

import pytest

from tests.pages.app import HOSTILE, PAGES, each_section, open_app
from tests.pages.offered import offer
from tests.support.kinds import KINDS
from tests.support.models import tiny_subword_model

SUBWORDS = "sub-words"
PLACES: dict[str, dict[str, str]] = {
    **{page: {"page": page} for page in PAGES},
    "snapshots": {"page": "training", "watch": "A finished training", "step": "0"},
    "doctor": {"page": "checkpoint"},
    SUBWORDS: {"model": SUBWORDS, "by": "word"},
    **{kind: {"model": kind} for kind in KINDS},
}
CASES = [
    pytest.param(place, name, marks=() if at % len(HOSTILE) == text_at else pytest.mark.full)
    for at, place in enumerate(PLACES)
    for text_at, name in enumerate(HOSTILE)
]


@pytest.mark.parametrize("place, name", CASES)
def test_no_text_breaks_a_page(place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch.setattr, {**KINDS, SUBWORDS: lambda: tiny_subword_model(4)})
    app = open_app(**PLACES[place])
    for box in (*app.text_input, *app.text_area):
        box.set_value(HOSTILE[name])
    app.run()
    assert not app.exception
    for _ in each_section(app):
        assert app.title
