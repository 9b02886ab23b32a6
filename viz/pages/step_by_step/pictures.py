"""A stage's matrices as drawn; large ones are cut."""

from __future__ import annotations

import numpy as np

from viz.components.stage import Picture, PictureAxis
from viz.pages.step_by_step.stages.stage import ALL, CELL, Axis, Link, Matrix, Stage
from viz.pages.step_by_step.stages.way import Way
from viz.theme import color_range

MOST_ROWS, MOST_COLUMNS = 256, 256
"""Most rows and columns drawn: more cells would be smaller than a pixel."""


def pictures_of(stage: Stage, way: Way) -> list[Picture]:
    """The pictures of a stage, the result last."""
    shared = shared_range(stage)
    operands = [
        _picture(one.matrix, one.sign, one.link, stage, way, shared if one.link == CELL else None)
        for one in stage.operands
    ]
    is_equation = not stage.is_summary and all(one.kind in ("signed", "share") for one in operands)
    sign = "" if not operands else "=" if is_equation else "→"
    return [*operands, _picture(stage.result, sign, ALL, stage, way, shared)]


def shared_range(stage: Stage) -> tuple[float, float] | None:
    """The colour scale of a result and the operands that it is compared with cell by cell, if any."""
    compared = [one.matrix for one in stage.operands if one.link == CELL and one.matrix.kind == "signed"]
    if not compared or stage.result.kind != "signed":
        return None
    values = [matrix.values.ravel() for matrix in (*compared, stage.result)]
    return color_range(np.concatenate(values), signed=True)


def _picture(
    matrix: Matrix, sign: str, link: Link, stage: Stage, way: Way, shared: tuple[float, float] | None
) -> Picture:
    rows, columns = slice(MOST_ROWS), slice(MOST_COLUMNS)
    return Picture(
        name=matrix.name,
        sign=sign,
        values=matrix.values[rows, columns],
        rows=_axis(matrix.rows, MOST_ROWS),
        columns=_axis(matrix.columns, MOST_COLUMNS),
        kind=matrix.kind,
        path=matrix.path,
        link=link,
        closed=None if matrix.closed is None else matrix.closed[rows, columns],
        words=list(matrix.words),
        marked=way.position if _is_followed(matrix, stage, way) else None,
        shared=shared if matrix.kind == "signed" else None,
    )


def _axis(axis: Axis, most: int) -> PictureAxis:
    return PictureAxis(axis.title, list(axis.labels[:most]), axis.has_words, len(axis.labels))


def _is_followed(matrix: Matrix, stage: Stage, way: Way) -> bool:
    """True if the matrix has the rows of the predicting stack, one of which is followed."""
    if way.writer == "encoder" and stage.stack is not None:
        return False
    is_its = stage.stack in (None, way.writer) and matrix.rows.title in ("token", "query")
    return is_its and len(matrix.rows.labels) == len(way.tokens(way.writer)) > 1
