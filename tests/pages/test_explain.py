"""What names the code behind a picture finds it itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pages.app import ROOT
from transformer.model.attention import MultiHeadAttention, masked_softmax
from transformer.model.normalization import LayerNorm
from viz.pages.shared.explain import source_of


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
