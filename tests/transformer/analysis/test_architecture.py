"""The text tree mentions what is unusual in each part."""

from __future__ import annotations

import pytest

from tests.support.kinds import KINDS
from transformer.analysis.architecture import drawing
from transformer.analysis.parts import parts_of, total


@pytest.mark.parametrize(
    "kind, said",
    [
        (
            "capped",
            {
                "norms before and after",
                "soft cap keeps scores below 2.5",
                "9 in layer 0; none in layer 1; 500 in layer 2",
                "cap 1.5",
                "closes keys 2 or more positions away in layer 2",
            },
        ),
        ("parallel", {"in parallel", "the first 4 of a head's 10 dimensions are rotated"}),
        ("shared", {"3 × layer", "the same weights each time", "14 → 30"}),
        ("factors", {"outputs times 0.4", "multiplied by 0.2"}),
        ("shifted", {"it sees the source's padding", "outputs times 0.5"}),
        ("prompted", {"pre-norm"}),
        ("alibi", {"pre-norm, ALiBi"}),
        ("output_norms", {"norms of sublayer outputs", "are over all heads at once"}),
        ("own_biases", {"a relative bias of its own", "have weights for each head"}),
    ],
)
def test_what_is_unusual_is_said_in_words(kind: str, said: set[str]) -> None:
    model = KINDS[kind]().model
    parts = parts_of(model.config)
    text = "\n".join(f"{branch.name} {branch.detail}" for branch in drawing(model.config, parts))
    assert {words for words in said if words not in text} == set()
    assert total(parts) == sum(parameter.numel() for parameter in model.parameters())
