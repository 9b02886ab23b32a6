"""The parts of a stage: input matrices, the result, and the code that computed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from transformer.model.trace import Stack
from viz.pages.step_by_step.stages.source import Lines

Array: TypeAlias = NDArray[np.float32]
Kind: TypeAlias = Literal["signed", "share", "ids", "words"]
"""Contents of cells: signed numbers, shares from 0 to 1, ids, words."""
Link: TypeAlias = tuple[bool, bool]
"""Which operand cells feed a result cell: (those of its row only, those of its column only)."""

CELL: Link = (True, True)
ROW: Link = (True, False)
COLUMN: Link = (False, True)
ALL: Link = (False, False)


@dataclass(frozen=True)
class Axis:
    """The rows or columns of a matrix.

    Attributes:
        title: in the singular, such as "token", "dimension" or "query".
        labels: one per row or column; plain text with invisible characters made visible.
        has_words: true if the labels are tokens rather than numbers.
    """

    title: str
    labels: Sequence[str]
    has_words: bool = False


@dataclass(frozen=True)
class Matrix:
    """A matrix to draw.

    Attributes:
        name: as in the formula, in plain text.
        values: (rows, columns) float32, the run's own numbers; zeros in a matrix of words.
        rows, columns: the axes.
        kind: contents of the cells.
        path: path of the recorded tensor or weight; matrices with the same path are the same.
        closed: (rows, columns), which cells the mask closes; None if there is no mask.
        words: the text of each row of a matrix of words, which has one column.
    """

    name: str
    values: Array
    rows: Axis
    columns: Axis
    kind: Kind = "signed"
    path: str = ""
    closed: NDArray[np.bool_] | None = None
    words: Sequence[str] = ()


@dataclass(frozen=True)
class Operand:
    """An input matrix of a stage.

    Attributes:
        matrix: the numbers.
        link: which of its cells feed a result cell.
        sign: the sign in front of it, such as "×".
    """

    matrix: Matrix
    link: Link = CELL
    sign: str = ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the way.

    Attributes:
        name: short, unique, and the same in every layer, so that a change of layer keeps the stage.
        title: what happens.
        stack: the stack it belongs to; None after both.
        block: path of its block in the drawing of the architecture (of layer 0).
        formula: our own LaTeX.
        path: path of the recorded tensor; "" for an intermediate result that is not recorded.
        shape: the symbols of the tensor's axes; unused without one, as is `part`.
        part: the index of the part of the tensor that `result` shows.
        operands: the inputs.
        result: the output.
        code: the statements that computed it.
        notice: what to notice, with this run's numbers. Markdown; users' text in it is quoted.
        is_summary: true if it stands for many stages at once.
    """

    name: str
    title: str
    stack: Stack | None
    block: str
    formula: str = ""
    path: str = ""
    shape: Sequence[str] = ("B", "T", "D")
    part: tuple[Any, ...] = (0,)
    operands: Sequence[Operand] = ()
    result: Matrix
    code: Sequence[Lines]
    notice: str
    is_summary: bool = False
