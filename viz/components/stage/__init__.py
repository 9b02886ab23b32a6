"""One stage of the way, drawn in the browser: matrices and what they become."""

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
        title: what they are, in the singular.
        labels: of those that are shown; plain, with invisible characters already made visible.
        has_words: whether the labels are tokens, and not numbers.
        count: how many there are, those that are not shown included.
    """

    title: str
    labels: Sequence[str]
    has_words: bool
    count: int


@dataclass(frozen=True)
class Picture:
    """A matrix as it is drawn.

    Attributes:
        name: above it.
        sign: before it: "×", or "" for none.
        values: (rows, columns) float32.
        rows, columns: the axes.
        kind: "signed" numbers, "share"s from 0 to 1, "ids", or "words".
        path: two pictures with the same one are of the same tensor, in this stage and the one before.
        link: whether a cell of the result is made of its own row here alone, and of its own column alone.
        closed: (rows, columns), cells that a mask closes; None for none.
        words: of a picture of words, the text of each row.
        marked: a row that is followed; None for none.
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


def stage_view(pictures: Sequence[Picture], *, stage: str, colors: Theme, key: str, title: str) -> None:
    """Draw the pictures side by side: all but the last become the last.

    When another stage comes, a picture that was there already moves to its new place, and the last grows
    out of the others. Pointing at a cell, or arrow keys, say its number and mark what it is made of.

    Args:
        pictures: one or more.
        stage: says whether it is another stage.
        title: what is shown, for screen readers.
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
        "range": list(color_range(picture.values, signed=picture.kind == "signed")),
        "words": [brief(word) for word in picture.words],
        "marked": picture.marked,
    }


def _axis(axis: PictureAxis) -> dict[str, object]:
    labels = [brief(label) for label in axis.labels]
    return {"title": axis.title, "labels": labels, "has_words": axis.has_words, "count": axis.count}
