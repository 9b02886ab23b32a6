"""A norm: each token's numbers rescaled, one token at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from transformer.model.trace import Stack
from viz.figures.numbers import span
from viz.pages.step_by_step.stages.source import tapping
from viz.pages.step_by_step.stages.stage import COLUMN, ROW, Array, Axis, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, column, numbered, per_token, single

FORMULAS = {
    "layer": r"\gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta",
    "layer_unbiased": r"\gamma \odot \frac{x - \mu}{s + \epsilon} + \beta",
    "rms": r"\gamma \odot \frac{x}{\sqrt{\overline{x^2} + \epsilon}}",
}
DIVISORS = {
    "layer": "its standard deviation",
    "layer_unbiased": "its unbiased standard deviation plus eps",
    "rms": "the root of the mean of its squares",
}


def norm_stage(
    way: Way,
    path: str,
    stack: Stack | None,
    *,
    block: str,
    name: str,
    title: str,
    tokens: Axis,
    part: tuple[Any, ...] = (0,),
    note: str = "",
) -> Stage:
    """Make the stage of a norm; for a norm inside heads, `part` chooses the head.

    Args:
        path: path of the norm's module.
        note: an additional remark.
    """
    norm, kind = way.loaded.model.get_submodule(path), way.config.norm
    x, result = way.record(f"{path}.input", *part), way.record(f"{path}.result", *part)
    scale = way.record(f"{path}.scale", *part)
    dimensions = numbered("dimension", x.shape[1])
    operands = [Operand(per_token("x", x, tokens, f"{path}.input"), ROW)]
    if f"{path}.mean" in way.run.trace:
        mean = column("mean", way.record(f"{path}.mean", *part), tokens, f"{path}.mean")
        operands.append(Operand(mean, ROW, "−"))
    operands.append(Operand(column("scale", scale, tokens, f"{path}.scale"), ROW, "÷"))
    for letter, sign, weight in (("γ", "×", "gamma"), ("β", "+", "beta")):
        if way.has_weight(f"{path}.{weight}"):
            values = _weight(way, f"{path}.{weight}", part)
            matrix = Matrix(letter, values, single(), dimensions, path=f"{path}.{weight}")
            operands.append(Operand(matrix, COLUMN, sign))
    sizes = np.linalg.norm(x, axis=1), np.linalg.norm(result, axis=1)
    spans = [span(size) for size in sizes]
    mean_note = "" if kind == "rms" else "less its mean, "
    return Stage(
        name=name,
        title=title,
        stack=stack,
        block=block,
        formula=r"\text{norm}(x) = " + FORMULAS[kind],
        path=f"{path}.result",
        shape=("B", "H", "T", "d_head") if len(part) > 1 else ("B", "T", "D"),
        part=part,
        operands=operands,
        result=per_token("norm(x)", result, tokens, f"{path}.result"),
        code=[
            tapping(type(norm).forward, "normalized" if kind != "layer" else "mean"),
            tapping(type(norm).forward, "result"),
        ],
        notice=f"Each row by itself, {mean_note}divided by {DIVISORS[kind]}, times γ"
        f"{'' if kind == 'rms' else ', plus β'}. Before, the rows were {spans[0]} long; now they are "
        f"{spans[1]}. No token sees another here.{note}",
    )


def _weight(way: Way, path: str, part: tuple[Any, ...]) -> Array:
    """Gamma or beta as one row; inside heads, that of the head in `part` if each has its own."""
    weight = way.weight(path)
    return weight[None] if weight.ndim == 1 else weight[part[1]][None]
