"""Every picture names the code that computed it, with the right file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.app import ROOT, open_app
from tests.pages.figures import assert_names_its_code, named_code
from tests.pages.offered import BATCH, TEXT
from transformer.files import source_of
from transformer.model.attention import MultiHeadAttention, masked_softmax
from transformer.model.normalization import LayerNorm

VISITS: list[tuple[str, dict[str, str]]] = [
    ("explore", {"target": "il mio gatto"}),
    ("decode", {}),
    ("training", {"watch": "A finished training"}),
    ("positions", {}),
    ("masks", {}),
    ("layer_norm", {}),
    ("checkpoint", {}),
    ("heads", {}),
    ("why", {}),
    *(("why", {"section": name}) for name in ("Came from", "Sums", "Layers")),
]


@pytest.mark.parametrize("page, address", VISITS)
def test_every_picture_names_the_code_that_computed_it(page: str, address: dict[str, str]) -> None:
    app = open_app(page, **address, text=TEXT, batch=BATCH)
    assert not app.exception
    assert named_code(app)
    assert_names_its_code(app)


def test_source_is_the_file_and_line_of_the_function() -> None:
    for function, name, line_begins in (
        (masked_softmax, "masked_softmax", "def masked_softmax("),
        (LayerNorm.forward, "LayerNorm.forward", "    def forward("),
        (MultiHeadAttention, "MultiHeadAttention", "class MultiHeadAttention("),
    ):
        place, _, shown = source_of(function).partition(" ")
        file, line = place.split(":")
        assert shown == name
        assert not Path(file).is_absolute()
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert lines[int(line) - 1].startswith(line_begins)
