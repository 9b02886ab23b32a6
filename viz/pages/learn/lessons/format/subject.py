"""What a lesson is about: the reader's sentence in the chosen model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack
from transformer.run import Run

Value = TypeVar("Value")


@dataclass(frozen=True)
class Subject:
    """A run, and the values that a lesson computes from it.

    Attributes:
        loaded: the model.
        run: of the sentence; the target, if any, is the model's own output.
        text: the sentence as typed.
        step: the target token that the reader chose to ask about; None for the lesson's own choice.
        turn: 0 in the app, where a lesson's questions follow one row. A worksheet, where all can be read at
            once, asks each question in a turn of its own about another row, so that none answers another.
    """

    loaded: LoadedModel
    run: Run
    text: str
    step: int | None = None
    turn: int = 0
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def asked_about(self) -> str:
        """What the answers belong to: the sentence and, where the reader chose one, the step."""
        return self.text if self.step is None else f"{self.text} (step {self.step})"

    def about(self, step: int) -> Subject:
        """The same run, with questions about another target token; cached like all computed values."""
        return self.kept(f"about {step}", lambda: replace(self, step=step, _kept={}))

    @property
    def config(self) -> TransformerConfig:
        """The model's configuration."""
        return self.loaded.model.config

    def is_word(self, stack: Stack) -> NDArray[np.bool_]:
        """(T,): True for the sentence's tokens that contain a letter or digit."""
        read = self.run.encoder_input if stack == "encoder" else self.run.decoder_input
        assert read is not None
        stop = read.first + len(read.sentence.ids)
        return np.array(
            [
                read.first <= position < stop and any(map(str.isalnum, token))
                for position, token in enumerate(read.tokens)
            ]
        )

    def is_whole_word(self, stack: Stack) -> NDArray[np.bool_]:
        """(T,): True for the tokens of `is_word` that are no fragments of a longer word."""
        read = self.run.encoder_input if stack == "encoder" else self.run.decoder_input
        assert read is not None
        found = self.is_word(stack)
        word_of = np.array(read.sentence.word_of, dtype=np.int64)
        found[read.first : read.first + len(word_of)] &= np.bincount(word_of)[word_of] == 1
        return found

    def kept(self, name: str, compute: Callable[[], Value]) -> Value:
        """Compute a value for this subject once and cache it."""
        if name not in self._kept:
            self._kept[name] = compute()
        value: Value = self._kept[name]
        return value
