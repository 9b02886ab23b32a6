"""Three sentences in the two shipped models, each with a reference model written by hand."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from torch import Tensor

from tests.pages.learn.lessons.by_hand import ByHand, Changed
from tests.pages.learn.lessons.subjects import SENTENCES, SHIPPED, subject
from viz.pages.learn.lessons.format.subject import Subject


class Case(NamedTuple):
    """A sentence in a model.

    Attributes:
        subject: what the lessons are about.
        src, tgt: the ids that encoder and decoder read.
        hand: the reference model, after reading them.
        logits: (T, V), the reference model's.
    """

    subject: Subject
    src: tuple[int, ...]
    tgt: tuple[int, ...]
    hand: ByHand
    logits: Tensor

    def otherwise(self, **changes: object) -> Tensor:
        """The logits of a reference model with these changes."""
        return ByHand(self.subject.loaded, Changed(**changes))(self.src, self.tgt).detach()  # type: ignore[arg-type]

    def probabilities(self, logits: Tensor | None = None) -> Tensor:
        """(T, V): next-token probabilities; <pad> and <bos> are excluded."""
        raw = (self.logits if logits is None else logits).clone()
        raw[:, [0, 1]] = -float("inf")
        return raw.softmax(-1)


CASES = [
    pytest.param((model, text), marks=pytest.mark.slow if model == "en-it" and text != SENTENCES[0] else ())
    for model in SHIPPED
    for text in SENTENCES
]


@pytest.fixture(scope="session", params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    of = subject(*request.param)
    assert of.run.encoder_input is not None
    src, tgt = of.run.encoder_input.ids, of.run.target_ids
    hand = ByHand(of.loaded)
    return Case(of, src, tgt, hand, hand(src, tgt).detach())
