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
"""Which operand cells feed a result cell."""

CELL: Link = (True, True)
ROW: Link = (True, False)
COLUMN: Link = (False, True)
ALL: Link = (False, False)


@dataclass(frozen=True)
class Axis:
    """The rows or columns of a matrix.

    Attributes:
        title: in the singular: "token", "dimension", "query".
        labels: one for each of them, plain text with invisible characters made visible.
        has_words: true if the labels are tokens rather than numbers.
    """

    title: str
    labels: Sequence[str]
    has_words: bool = False


@dataclass(frozen=True)
class Matrix:
    """A matrix to draw.

    Attributes:
        name: as the formula has it, in plain text.
        values: (rows, columns) float32, the numbers of the run itself; of words, zeros.
        rows, columns: the axes.
        kind: contents of the cells.
        path: of the recorded tensor or of the weight that they are of; says which matrices are the same.
        closed: (rows, columns), which cells the mask closes; None where there is no mask.
        words: the text of each row, of a matrix of words with one column.
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
        name: short, unique on the way, and the same in every layer, so that another layer keeps the place.
        title: what happens.
        stack: on whose side of the model; None after both.
        block: the path of the block of the architecture's drawing in which it happens (of layer 0).
        formula: LaTeX of ours.
        path: of the recorded tensor; "" where the number is on the way to one.
        shape: the symbols of its axes.
        sizes: their sizes.
        part: the index of the part of that tensor which `result` shows.
        operands: what goes in.
        result: what it becomes.
        code: the statements that computed it.
        notice: what to notice, with this run's numbers. Markdown; users' text in it is quoted.
        is_summary: True if it summarises many stages.
    """

    name: str
    title: str
    stack: Stack | None
    block: str
    formula: str = ""
    path: str = ""
    shape: Sequence[str] = ()
    sizes: Sequence[int] = ()
    part: tuple[Any, ...] = ()
    operands: Sequence[Operand] = ()
    result: Matrix
    code: Sequence[Lines]
    notice: str
    is_summary: bool = False
