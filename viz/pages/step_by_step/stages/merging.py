"""The heads of one attention merged: concatenated, then multiplied by W_O (paper, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transformer.model.attention import MultiHeadAttention
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.source import calling, tapping
from viz.pages.step_by_step.stages.source import whole as whole_function
from viz.pages.step_by_step.stages.stage import ALL, COLUMN, ROW, Axis, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, biased, numbered, per_token


def merging(way: Way, path: str, queries: Axis) -> Iterator[Stage]:
    """The stages of concatenation and projection; the caller gives their blocks."""
    config = way.config
    z = way.record(f"{path}.z", 0)  # (H, Q, d_head)
    n_heads, n_queries, width = z.shape
    is_transposed = config.merge_heads == "transposed"
    merged = (z.transpose(1, 0, 2) if is_transposed else z).reshape(n_queries, n_heads * width)
    labels = [f"{head} · {label}" for head in range(n_heads) for label in queries.labels]
    stacked = per_token(
        "Z of all heads", z.reshape(-1, width), Axis("head · query", labels, True), f"{path}.z"
    )
    concatenated = per_token("Z", merged, queries, f"{path}.merged")
    first, last = way.head * width, (way.head + 1) * width - 1
    notice = (
        f"Each token gets its heads' outputs side by side: {n_heads} × {width} = {n_heads * width} numbers. "
        f"Head {way.head} fills the dimensions {first} to {last}."
        if is_transposed
        else "This model was trained with heads that are not transposed back: the rows of each head are "
        "only written one after the other, which gives a token numbers of other tokens' heads."
    )
    yield Stage(
        name="heads",
        title="The heads side by side",
        stack=way.stack,
        block="",
        formula=r"\text{Concat}(\text{head}_0, \ldots, \text{head}_{" + str(n_heads - 1) + "})",
        operands=[Operand(stacked, ALL)],
        result=concatenated,
        code=[
            calling(MultiHeadAttention.forward, "merge_heads"),
            whole_function(MultiHeadAttention.merge_heads),
        ],
        notice=notice,
    )
    out = way.record(f"{path}.out", 0)
    weight, bias = f"{path}.w_o.weight", f"{path}.w_o.bias"
    dimensions = numbered("dimension", config.d_model)
    matrix = Matrix(
        "W_O", way.weight(weight).T, numbered("dimension", n_heads * width), dimensions, path=weight
    )
    own = z[way.head] @ way.weight(weight).T[first : last + 1] if is_transposed else None
    sizes = np.linalg.norm(out, axis=1)
    at = int(sizes.argmax())
    share = (
        ""
        if own is None
        else f" Head {way.head} alone would write {number(float(np.linalg.norm(own[at])), 2)} there."
    )
    said = " + b^O" if way.has_weight(bias) else ""
    yield Stage(
        name="out",
        title="Through W_O",
        stack=way.stack,
        block="",
        formula=r"\text{MultiHead} = \text{Concat}(\ldots) \, W^O" + said,
        path=f"{path}.out",
        shape=("B", "Q", "D"),
        operands=[
            Operand(concatenated, ROW),
            Operand(matrix, COLUMN, "×"),
            *biased(way, bias, slice(None), COLUMN, dimensions),
        ],
        result=per_token("out", out, queries, f"{path}.out"),
        code=[tapping(MultiHeadAttention.forward, "out")],
        notice="W_O mixes the heads and brings them to the width of the stream, so that the result can be "
        f"added to it. The longest row is that of {quoted(queries.labels[at])}, "
        f"{number(float(sizes[at]), 2)}.{share}",
    )
