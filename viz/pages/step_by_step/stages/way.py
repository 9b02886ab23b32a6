"""A run and the part of the model shown in detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.trace import Stack
from transformer.run import Run
from transformer.text.coder import Coder
from viz.figures.labels import visible
from viz.pages.step_by_step.stages.stage import Array, Axis, Kind, Matrix, Operand


@dataclass(frozen=True)
class Way:
    """A run and the part of it shown in detail.

    Attributes:
        loaded: the model.
        run: the run of the sentence.
        stack, layer, head: the part shown stage by stage.
        position: the row of the predicting stack whose logits are followed.
        source: the row of the encoder that is followed where the decoder predicts.
    """

    loaded: LoadedModel
    run: Run
    stack: Stack
    layer: int
    head: int
    position: int
    source: int = 0

    @property
    def config(self) -> TransformerConfig:
        """The model's configuration."""
        return self.loaded.model.config

    @property
    def writer(self) -> Stack:
        """The stack that predicts: its output becomes the logits."""
        return "decoder" if self.config.n_decoder_layers else "encoder"

    def coder(self, stack: Stack) -> Coder:
        """The coder of a stack's input."""
        return self.loaded.source if stack == "encoder" else self.loaded.target

    def n_layers(self, stack: Stack) -> int:
        """The number of layers in a stack."""
        return self.config.n_encoder_layers if stack == "encoder" else self.config.n_decoder_layers

    def record(self, path: str, *part: Any) -> Array:
        """A recorded tensor, or its part at an index."""
        array: Array = self.run.trace[path][part or (slice(None),)].numpy()
        return array

    def sizes(self, path: str) -> tuple[int, ...]:
        """The shape of a recorded tensor."""
        return tuple(self.run.trace[path].shape)

    def weight(self, path: str, *rows: Any) -> Array:
        """A weight as PyTorch stores it, or some of its rows; only those are copied from the device."""
        array: Array = self.loaded.model.get_parameter(path)[rows or ...].detach().float().cpu().numpy()
        return array

    def n_rows(self, path: str) -> int:
        """The number of rows of a weight."""
        return len(self.loaded.model.get_parameter(path))

    def has_weight(self, path: str) -> bool:
        """True if the model has a weight at this path; biases are optional."""
        module, _, name = path.rpartition(".")
        return getattr(self.loaded.model.get_submodule(module), name, None) is not None

    def ids(self, stack: Stack) -> tuple[int, ...]:
        """The ids of a stack's input."""
        read = self.run.encoder_input if stack == "encoder" else self.run.decoder_input
        assert read is not None
        return read.ids

    def tokens(self, stack: Stack) -> tuple[str, ...]:
        """A stack's input tokens, verbatim."""
        return self.run.trace.tokens(stack)[0]

    def axis(self, stack: Stack, title: str = "token") -> Axis:
        """A stack's input tokens, as an axis."""
        return Axis(title, tuple(map(visible, self.tokens(stack))), has_words=True)


def numbered(title: str, n: int, start: int = 0) -> Axis:
    """An axis of dimensions or the like, counted from `start`."""
    return Axis(title, tuple(map(str, range(start, start + n))))


def single(title: str = "") -> Axis:
    """An axis of length 1."""
    return Axis(title, ("",))


def per_token(
    name: str, values: NDArray[Any], tokens: Axis, path: str = "", dimension: str = "dimension"
) -> Matrix:
    """(T, D): one row of numbers per token."""
    return Matrix(name, values, tokens, numbered(dimension, values.shape[1]), path=path)


def words_of(name: str, tokens: Sequence[str], rows: Axis, path: str = "") -> Matrix:
    """One text per row, as a column."""
    values = np.zeros((len(tokens), 1), np.float32)
    return Matrix(name, values, rows, single(), "words", path, words=tuple(tokens))


def column(name: str, values: NDArray[Any], rows: Axis, path: str = "", kind: Kind = "signed") -> Matrix:
    """(T,) numbers as a column."""
    return Matrix(name, values.reshape(-1, 1).astype(np.float32), rows, single(), kind, path)


def factor(name: str, value: float, path: str = "") -> Matrix:
    """A scalar factor or divisor."""
    return Matrix(name, np.array([[value]], np.float32), single(), single(), path=path or name)


def biased(way: Way, path: str, part: slice, link: tuple[bool, bool], columns: Axis) -> list[Operand]:
    """The added bias as a row; empty if the model has no bias."""
    if not way.has_weight(path):
        return []
    values = way.weight(path)[None, part]
    return [Operand(Matrix("b", values, single(), columns, path=path), link, "+")]
