"""One token's path through the model as one moving picture, played and stepped through in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viz.components.shared.client_view import ClientView, index
from viz.components.shared.frame import brief, color_data, pack_frame
from viz.pooling import block_edges
from viz.theme import Theme

_VIEW = ClientView("path")
Array: TypeAlias = NDArray[np.float32]
Role: TypeAlias = Literal["in", "with", "out", "kept"]
"""What moves, what it meets, what comes of it, and what waits for the next step."""
Form: TypeAlias = Literal["strip", "rows", "bars", "weights", "words", "number"]
Motion: TypeAlias = Literal[
    "appear", "change", "project", "each", "match", "column", "average", "join", "sum", "choose"
]
MOST_WEIGHTS = (64, 128)
"""Rows and columns at which a weight matrix is drawn; each block shows its number of largest magnitude."""


@dataclass(frozen=True)
class Part:
    """Something in the picture. Parts with the same numbers, in different steps, are drawn as one thing.

    Attributes:
        name: written next to it.
        role: its role in this step.
        form: a "strip" of one vector (n,), "rows" of vectors (T, n), "bars" of one number per label (T,),
            "weights" (outputs, inputs), "words", or a single "number" (1,).
        values: the numbers; empty for words.
        sign: written before the name, such as "×".
        labels: of the rows or bars, or the words.
        marked: the row, bar or word of the chosen token, if it is among them.
        closed: (T,), the bars that the mask closes.
        scale: the ends of its colour scale, or of its bars.
        group: the scale's name: parts of one group share it.
        is_share: True for shares from 0 to 1.
    """

    name: str
    role: Role
    form: Form
    values: Array
    sign: str = ""
    labels: Sequence[str] = ()
    marked: int | None = None
    closed: NDArray[np.bool_] | None = None
    scale: tuple[float, float] = (-1.0, 1.0)
    group: str = ""
    is_share: bool = False


@dataclass(frozen=True)
class Step:
    """One step of the path.

    Attributes:
        name: identifies it; reported when the user stops there.
        chapter: the part of the model.
        title: what happens.
        motion: how the result comes about.
        parts: in the order of the formula, the result last.
        sentence: the explanation in pieces, each with the role of what it names or "".
    """

    name: str
    chapter: str
    title: str
    motion: Motion
    parts: Sequence[Part]
    sentence: Sequence[tuple[Role | Literal[""], str]]


def path_view(
    steps: Sequence[Step],
    *,
    here: str,
    moves: int,
    subject: str,
    colors: Theme,
    key: str,
    title: str,
    on_step: Callable[[str], None],
) -> None:
    """Draw the path.

    Each step begins with what the one before ended with. Users who prefer no motion see each step at its end.

    Args:
        steps: one or more.
        here: the name of the step to begin with.
        moves: changes whenever the view is to go to `here`; while it stays, the view keeps its own step.
        subject: identifies the run, the token and the head; playing stops when it changes.
        title: a name for screen readers.
        on_step: called with the name of the step at which the user has stopped.
    """
    arrays: dict[str, NDArray[Any]] = {}
    data = {
        "colors": color_data(colors),
        "title": title,
        "here": here,
        "moves": moves,
        "subject": subject,
        "steps": [
            {
                "name": step.name,
                "chapter": step.chapter,
                "title": step.title,
                "motion": step.motion,
                "sentence": [[role, brief(text)] for role, text in step.sentence],
                "parts": [_data(part, arrays) for part in step.parts],
            }
            for step in steps
        ],
    }
    names = [step.name for step in steps]
    _VIEW.mount(
        pack_frame(data, arrays),
        key=key,
        parse=lambda value: names[index(value, len(names))],
        on_select=on_step,
    )


def _data(part: Part, arrays: dict[str, NDArray[Any]]) -> dict[str, object]:
    """Describe a part; its numbers are sent once, however many steps show them."""
    values = strongest_of_blocks(part.values) if part.form == "weights" else part.values
    name = _identity(values)
    arrays[name] = values.astype(np.float32)
    if part.closed is not None:
        arrays[f"{name}closed"] = part.closed.astype(np.uint8)
    return {
        "name": part.name,
        "role": part.role,
        "form": part.form,
        "sign": part.sign,
        "array": name,
        "ids": [_identity(row) for row in part.values] if part.form == "rows" else [],
        "sizes": list(part.values.shape),
        "labels": [brief(label) for label in part.labels],
        "marked": part.marked,
        "is_closed": part.closed is not None,
        "scale": list(part.scale),
        "group": part.group,
        "is_share": part.is_share,
    }


def _identity(values: NDArray[Any]) -> str:
    """Equal numbers have an equal name."""
    return blake2b(np.ascontiguousarray(values, np.float32).tobytes(), digest_size=6).hexdigest()


def strongest_of_blocks(values: Array, most: tuple[int, int] = MOST_WEIGHTS) -> Array:
    """Reduce a matrix to at most so many rows and columns: each block's number of largest magnitude."""
    for axis, side in enumerate(most):
        starts = block_edges(values.shape[axis], side)[:-1]
        high, low = (pool.reduceat(values, starts, axis) for pool in (np.maximum, np.minimum))
        values = np.where(high >= -low, high, low)
    return values
