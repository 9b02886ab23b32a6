"""One stage of a sentence's way through the model: its input matrices and result, drawn in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.theme import Theme, color_range

_VIEW = ClientView("stage")


@dataclass(frozen=True)
class PictureAxis:
    """Rows or columns of a picture.

    Attributes:
        title: the name of a single row or column.
        labels: those shown; plain, with invisible characters already made visible.
        has_words: True if the labels are tokens rather than numbers.
        count: the full count, including those not shown.
    """

    title: str
    labels: Sequence[str]
    has_words: bool
    count: int


@dataclass(frozen=True)
class Picture:
    """A matrix to draw.

    Attributes:
        name: shown above it.
        sign: shown before it, such as "×"; may be "".
        values: (rows, columns) float32.
        rows, columns: the axes.
        kind: "signed" numbers, "share"s from 0 to 1, "ids", or "words".
        path: identifies the tensor in this stage and the previous one.
        link: whether a result cell depends only on its own row here, and whether only on its own column.
        closed: (rows, columns), cells closed by a mask; None if there are none.
        words: for a picture of words, the text of each row.
        marked: the row to highlight, if any.
        shared: the ends of the colour scale that it shares with other pictures; None for a scale of its own.
    """

    name: str
    sign: str
    values: NDArray[np.float32]
    rows: PictureAxis
    columns: PictureAxis
    kind: Literal["signed", "share", "ids", "words"]
    path: str
    link: tuple[bool, bool] = (True, True)
    closed: NDArray[np.bool_] | None = None
    words: Sequence[str] = ()
    marked: int | None = None
    shared: tuple[float, float] | None = None


def stage_view(pictures: Sequence[Picture], *, stage: str, colors: Theme, key: str, title: str) -> None:
    """Draw the pictures side by side: the last is the result of the others.

    Pointing at a cell, or the arrow keys, show its number and mark the cells that feed it.

    Args:
        pictures: one or more.
        stage: identifies the stage.
        title: a name for screen readers.
    """
    arrays: dict[str, NDArray[np.float32] | NDArray[np.uint8]] = {}
    for number, picture in enumerate(pictures):
        arrays[f"values{number}"] = picture.values.astype(np.float32)
        if picture.closed is not None:
            arrays[f"closed{number}"] = picture.closed.astype(np.uint8)
    data = {
        "colors": color_data(colors),
        "title": title,
        "stage": stage,
        "pictures": [_data(picture) for picture in pictures],
    }
    _VIEW.show(pack_frame(data, arrays), key=key)


def _data(picture: Picture) -> dict[str, object]:
    return {
        "name": picture.name,
        "sign": picture.sign,
        "rows": _axis(picture.rows),
        "columns": _axis(picture.columns),
        "kind": picture.kind,
        "path": picture.path,
        "link": list(picture.link),
        "range": list(picture.shared or color_range(picture.values, signed=picture.kind == "signed")),
        "is_shared": picture.shared is not None,
        "words": [brief(word) for word in picture.words],
        "marked": picture.marked,
    }


def _axis(axis: PictureAxis) -> dict[str, object]:
    labels = [brief(label) for label in axis.labels]
    return {"title": axis.title, "labels": labels, "has_words": axis.has_words, "count": axis.count}
