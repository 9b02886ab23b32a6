"""What a step of the path shows: the chosen token's row of a stage's matrices, and what it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viz.components.path import Array, Form, Motion, Part, Role
from viz.pages.step_by_step.stages.stage import Matrix, Stage
from viz.pages.step_by_step.stages.way import Way


def row_of(stage: Stage, way: Way) -> int:
    """The row that is followed in a stage."""
    return way.position if stage.stack in (None, way.writer) else way.source


def motion_of(stage: Stage) -> Motion:
    """How the result of a stage comes about."""
    result, matrices = stage.result, [one.matrix for one in stage.operands]
    if result.kind in ("words", "ids"):
        return "choose" if matrices and matrices[0].kind == "share" else "appear"
    if not matrices or stage.name.endswith("groups"):
        return "appear"
    if is_over_tokens(result):
        return "match" if any(map(is_answered, matrices)) else "column"
    if is_over_tokens(matrices[0]):
        return "average"
    if result.rows.title == "key":
        return "each"
    if matrices[0].rows.title.startswith("head ·"):
        n = len(result.values)
        return "join" if np.array_equal(matrices[0].values[::n].ravel(), result.values[0]) else "appear"
    if any(one.matrix.rows.title and one.link == (False, True) for one in stage.operands):
        return "project"
    is_sum = len(matrices) > 1 and stage.operands[-1].sign == "+" and stage.name.endswith("sum")
    return "sum" if is_sum else "change"


def is_over_tokens(matrix: Matrix) -> bool:
    """True if a row has one number per token or vocabulary entry."""
    return (
        matrix.columns.has_words and matrix.kind in ("signed", "share") and matrix.rows.title != "dimension"
    )


def is_answered(matrix: Matrix) -> bool:
    """True if each column is a vector with a token's name, which a query is multiplied with."""
    return matrix.columns.has_words and matrix.rows.title == "dimension"


def parts_of(stage: Stage, way: Way) -> list[Part]:
    """The parts of a stage's step, the result last."""
    motion, row = motion_of(stage), row_of(stage, way)
    # The closed bars of the result show the mask.
    operands = [one for one in stage.operands if motion != "appear" and not one.matrix.path.endswith(".mask")]
    if motion == "each":
        operands = [one for at, one in enumerate(operands) if at == 0 or one.matrix.path.endswith(".weight")]
    parts = [replace(_part(one.matrix, "with", motion, row, way), sign=one.sign) for one in operands]
    # What moves: the first operand, or the vector in front of a weight matrix.
    forms = [part.form for part in parts]
    moving = forms.index("weights") - 1 if "weights" in forms else 0
    parts = [replace(part, role="in" if at == moving else "with") for at, part in enumerate(parts)]
    if motion == "match":
        # The vectors that answer stand in the table; what is added to their products, next to them.
        labels = stage.result.columns.labels
        parts = [
            replace(part, form="bars", labels=labels) if number > 1 and part.form == "strip" else part
            for number, part in enumerate(parts)
        ]
    return [*parts, _part(stage.result, "out", motion, row, way)]


def _part(matrix: Matrix, role: Role, motion: Motion, row: int, way: Way) -> Part:
    form, values, labels = _shown(matrix, motion, row)
    is_own = matrix.rows.title in ("key", "token", "query") and len(matrix.values) == len(labels)
    marked: int | None = None
    if form in ("words", "rows") and len(labels) > 1 and (is_own or matrix.path.endswith(".words")):
        marked = row if row < len(labels) and _is_own_side(matrix, way) else None
    if form == "rows" and matrix.rows.title.startswith("head ·"):
        marked = way.head
    closed = None
    if form == "bars" and matrix.closed is not None:
        closed = matrix.closed[min(row, len(matrix.closed) - 1)]
    return Part(
        name_of(matrix, form),
        role,
        form,
        values,
        labels=labels,
        marked=marked,
        closed=closed,
        group=matrix.path,
        is_share=matrix.kind == "share",
    )


NAMES = {
    "E[ids]": "E[id]",
    "scores S": "scores",
    "masked S": "masked scores",
    "weights A": "weights",
    "p": "probabilities",
    "L": "logits",
    "K": "keys",
    "V": "values",
    "Kᵀ": "keys",
    "Wᵀ": "rows of W",
    "Z of all heads": "z of all heads",
}
"""Names of matrices of which a row, or whose rows, are shown."""


def name_of(matrix: Matrix, form: Form) -> str:
    """The name of what is shown of a matrix: of a vector, in lower case."""
    if matrix.path.endswith(".out") and matrix.name == "out":
        return "feed-forward output" if "feed_forward" in matrix.path else "attention output"
    if matrix.name in NAMES:
        return NAMES[matrix.name]
    first, rest = matrix.name[0], matrix.name[1:]
    return first.lower() + rest if form in ("strip", "rows") and (not rest or rest[0] == " ") else matrix.name


def _is_own_side(matrix: Matrix, way: Way) -> bool:
    """True if the rows are those of the stack whose row is followed: not the memory's."""
    return not (way.stack == "decoder" and ".cross_attn.k" in matrix.path)


def _shown(matrix: Matrix, motion: Motion, row: int) -> tuple[Form, Array, Sequence[str]]:
    """The form, the numbers and the labels of what a matrix shows of the row."""
    values = matrix.values
    own = values[min(row, len(values) - 1)]
    if matrix.kind == "words":
        return "words", np.zeros(0, np.float32), matrix.words
    if matrix.kind == "ids":
        return "number", own, ()
    if is_answered(matrix):
        return "rows", values.T, matrix.columns.labels
    if is_over_tokens(matrix):
        return "bars", own, matrix.columns.labels
    if values.size == 1 and motion not in ("each", "average"):
        return "number", values[0], ()
    if matrix.rows.title.startswith("head ·"):
        n_heads = int(matrix.rows.labels[-1].split(" ")[0]) + 1
        n = len(values) // n_heads
        return "rows", values[row::n], [f"head {head}" for head in range(n_heads)]
    if matrix.rows.title == "key" or (motion == "each" and matrix.rows.has_words):
        return "rows", values, matrix.rows.labels
    if matrix.rows.title in ("dimension", "hidden number") and len(values) > 1:
        return "weights", values.T, ()
    if values.shape[1] == 1:
        return "number", own, ()
    return "strip", own, ()


def is_norm(stage: Stage) -> bool:
    """True for a norm, whose purpose is another scale."""
    return stage.path.endswith(".result") or stage.name.endswith("-norm")
