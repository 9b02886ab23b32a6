"""Every picture names the code that computed it, with the right file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pages.app import ROOT, open_app
from tests.pages.figures import named_code, pictures_without_code
from tests.pages.offered import BATCH, TEXT
from transformer.model.attention import MultiHeadAttention, masked_softmax
from transformer.model.normalization import LayerNorm
from viz.pages.shared.explain import source_of

KINDS_PAGES = ("explore", "positions", "masks", "layer_norm")
VISITS = [
    ("explore", {}),
    ("explore", {"view": "Side by side", "measure": "Raw scores"}),
    ("explore", {"view": "Lines", "attention": "Encoder self-attention"}),
    ("explore", {"view": "Beside random", "target": "il mio gatto"}),
    ("explore", {"model": "en-it", "by": "Each word"}),
    ("decode", {}),
    ("decode", {"beam_head": "cross.1.2"}),
    ("training", {"watch": "A finished training"}),
    ("positions", {}),
    ("masks", {}),
    ("masks", {"mask_attention": "Cross-attention"}),
    ("layer_norm", {}),
    ("checkpoint", {}),
    *((page, {"model": kind}) for kind in ("rotary", "relative", "masked") for page in KINDS_PAGES),
]


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("page, address", VISITS)
def test_every_picture_names_the_code_that_computed_it(page: str, address: dict[str, str]) -> None:
    app = open_app(page, **{"model": "toy-en-it"} | address, text=TEXT, batch=BATCH)
    assert not app.exception
    assert pictures_without_code(app) == []
    for file, line, name in set(named_code(app)):
        written = (ROOT / file).read_text(encoding="utf-8").splitlines()[line - 1]
        last = name.rpartition(".")[2]
        assert written.lstrip().startswith((f"def {last}(", f"class {last}", "@")), f"{file}:{line} {name}"


@pytest.mark.parametrize(
    "function, name, line_begins",
    [
        (masked_softmax, "masked_softmax", "def masked_softmax("),
        (LayerNorm.forward, "LayerNorm.forward", "    def forward("),
        (MultiHeadAttention, "MultiHeadAttention", "class MultiHeadAttention("),
    ],
)
def test_source_is_the_file_and_line_of_the_function(
    function: Callable[..., object], name: str, line_begins: str
) -> None:
    place, _, shown = source_of(function).partition(" ")
    file, line = place.split(":")
    assert shown == name
    assert not Path(file).is_absolute()
    assert (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].startswith(line_begins)
