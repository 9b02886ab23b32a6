"""What a lesson is about: the reader's sentence in the chosen model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from transformer.checkpoints.folder import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack
from transformer.run import Run
from viz.figures.labels import MAX_LABEL, visible
from viz.figures.numbers import MINUS, number

Value = TypeVar("Value")
_TICKS = re.compile("`+")


@dataclass(frozen=True)
class Subject:
    """A run, and what a lesson asks of it.

    Attributes:
        loaded: the model.
        run: of the sentence; its target is the model's own, where it writes one.
        text: the sentence as typed.
    """

    loaded: LoadedModel
    run: Run
    text: str
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def config(self) -> TransformerConfig:
        """The model's configuration."""
        return self.loaded.model.config

    def is_word(self, stack: Stack) -> NDArray[np.bool_]:
        """(T,): which tokens of a stack's input are of the sentence, and more than a sign."""
        read = self.run.encoder_input if stack == "encoder" else self.run.decoder_input
        assert read is not None
        stop = read.first + len(read.sentence.ids)
        return np.array(
            [
                read.first <= position < stop and any(map(str.isalnum, token))
                for position, token in enumerate(read.tokens)
            ]
        )

    def kept(self, name: str, compute: Callable[[], Value]) -> Value:
        """Something of this subject that takes a while: computed once."""
        if name not in self._kept:
            self._kept[name] = compute()
        value: Value = self._kept[name]
        return value


def in_sum(value: float) -> str:
    """A number after a sign of addition, subtraction or multiplication: in brackets where it is negative."""
    text = number(value)
    return f"({text})" if text.startswith(MINUS) else text


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: the first column is text, the others are numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    # A bar divides cells even in a span of code.
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def quoted(text: str, limit: int = MAX_LABEL) -> str:
    """A token or sentence in Markdown: a span of code, in which nothing is a sign of Markdown's."""
    shown = visible(text, limit)
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(shown)), default=0))
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"
