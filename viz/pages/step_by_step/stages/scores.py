"""From queries and keys to a head's output: scores, mask, weights, values (paper, equation 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from transformer.model.attention import masked_softmax, scaled_dot_product_attention, soft_capped
from transformer.model.positions import LinearBias, RelativeBias
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.head import SHAPES, Head
from viz.pages.step_by_step.stages.source import Lines, assigning, calling, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, CELL, COLUMN, ROW, Array, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import factor, numbered, per_token


def scaling(head: Head) -> Iterator[Stage]:
    """The queries times the model's scale; nothing if it has none."""
    scale = head.way.config.attention_scale
    if scale:
        yield _divided(head, _queries(head)) if scale is True else _multiplied(head, _queries(head))


def _queries(head: Head) -> Matrix:
    q = head.way.record(f"{head.path}.q", 0, head.number)
    return per_token("Q", q, head.queries, f"{head.path}.q")


def scoring(head: Head) -> Iterator[Stage]:
    """Scaled queries times keys, with the model's bias and soft cap."""
    config = head.way.config
    queries = next((stage.result for stage in scaling(head)), _queries(head))
    recorded = "scores_uncapped" if config.attention_soft_cap else "scores"
    scores = head.way.record(f"{head.path}.{recorded}", 0, head.number)
    stage = _products(head, queries, scores, recorded)
    yield stage
    if head.records("position_bias"):
        bias = head.way.record(f"{head.path}.position_bias", 0, head.number)
        stage = _bias(head, stage.result, bias, scores, _highest(head, scores), recorded)
        yield stage
    if config.attention_soft_cap:
        yield _capped(head, stage.result)


def _divided(head: Head, queries: Matrix) -> Stage:
    """Queries divided by √d_head (paper, equation 1)."""
    d_head = head.way.config.d_head
    root = math.sqrt(d_head)
    return head.stage(
        "scale",
        "Divided by the square root of d_head",
        "",
        formula=rf"\frac{{Q}}{{\sqrt{{d_\text{{head}}}}}}, \quad \sqrt{{{d_head}}} = {root:.4g}",
        operands=[Operand(queries), Operand(factor("√d_head", root), ALL, "÷")],
        result=replace(
            queries,
            name="Q / √d_head",
            values=queries.values / np.float32(root),
            path=f"{head.path}.queries",
        ),
        code=[assigning(scaled_dot_product_attention, "queries")],
        notice=f"The paper divides the scores. Dividing the queries by {root:.4g} first gives the same "
        f"scores with fewer divisions. Without it a score, a sum of {d_head} products, would grow "
        "with the width of the head, and softmax would put nearly all weight on one key.",
    )


def _products(head: Head, queries: Matrix, scores: Array, recorded: str) -> Stage:
    """Queries times keys: the scores, before any position bias or soft cap."""
    config, is_biased = head.way.config, head.records("position_bias")
    k = head.way.record(f"{head.path}.k", 0, head.shared)
    transposed = Matrix("Kᵀ", k.T, numbered("dimension", config.d_head), head.keys, path=f"{head.path}.k")
    product = Matrix(
        "products" if is_biased else "scores S",
        queries.values @ k.T if is_biased else scores,
        head.queries,
        head.keys,
        path=f"{head.path}.{'products' if is_biased else recorded}",
    )
    unscaled = "" if config.attention_scale else " This model was trained without dividing by √d_head."
    return head.stage(
        "scores",
        "Scores",
        "" if is_biased else recorded,
        formula=r"S = " + _formula(config.attention_scale),
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(queries, ROW), Operand(transposed, COLUMN, "×")],
        result=product,
        code=[
            assigning(scaled_dot_product_attention, "scores"),
            tapping(scaled_dot_product_attention, recorded),
        ],
        notice="A score is the product of one query with one key, number by number, summed over the "
        f"{config.d_head} dimensions: how well the key answers. Rows are queries, columns are keys.{unscaled}"
        + ("" if is_biased else _highest(head, scores)),
    )


def _formula(scale: bool | float) -> str:
    if scale is True:
        return r"\frac{Q}{\sqrt{d_\text{head}}} K^\top"
    return rf"{scale:g} \, Q K^\top" if scale else r"Q K^\top"


def _highest(head: Head, scores: Array) -> str:
    at = _largest(scores)
    return (
        f" The highest score is {number(float(scores[at]), 2)}, of query "
        f"{quoted(head.queries.labels[at[0]])} and key {quoted(head.keys.labels[at[1]])}."
    )


def _multiplied(head: Head, queries: Matrix) -> Stage:
    """Queries times the factor in the model's configuration."""
    scale = head.way.config.attention_factor
    return head.stage(
        "scale",
        "Times a factor of the model",
        "",
        formula=rf"{scale:g} \cdot Q",
        operands=[Operand(queries), Operand(factor("attention_scale", scale), ALL, "×")],
        result=replace(
            queries,
            name=f"{scale:g} · Q",
            values=queries.values * np.float32(scale),
            path=f"{head.path}.queries",
        ),
        code=[assigning(scaled_dot_product_attention, "queries")],
        notice=f"The paper divides the scores by √d_head, {math.sqrt(head.way.config.d_head):.4g} here. This "
        f"model multiplies them by {scale:g}, a number of its configuration; done to the queries first it "
        "gives the same scores.",
    )


def _capped(head: Head, before: Matrix) -> Stage:
    """Scores passed through tanh, so that none exceeds the cap."""
    cap = head.way.config.attention_soft_cap
    scores = head.way.record(f"{head.path}.scores", 0, head.number)
    moved = float(np.abs(scores - before.values).max())
    return head.stage(
        "cap",
        "A soft cap on the scores",
        "scores",
        formula=rf"S \leftarrow {cap:g} \tanh(S / {cap:g})",
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(before, CELL, f"{cap:g} tanh of"), Operand(factor("soft cap", cap), ALL, "÷")],
        result=Matrix("scores S", scores, head.queries, head.keys, path=f"{head.path}.scores"),
        code=[
            calling(scaled_dot_product_attention, "soft_capped"),
            tapping(scaled_dot_product_attention, "scores"),
            whole(soft_capped),
        ],
        notice=f"Small scores stay nearly as they are, and none passes {cap:g}: so no key can take all "
        f"of the weight by an extreme score. Here the cap moves a score by {number(moved, 2)} at most.",
    )


def _bias(head: Head, product: Matrix, bias: Array, scores: Array, most: str, recorded: str) -> Stage:
    config = head.way.config
    added = Matrix("bias", bias, head.queries, head.keys, path=f"{head.path}.position_bias")
    is_learned = config.positions == "relative"
    same = "of each layer's own" if config.relative_bias_per_layer else "the same in all layers"
    where = (
        f"a number for each of {config.n_position_buckets} ranges of distances, learned, {same}"
        if is_learned
        else "minus the distance times the head's slope, which is not learned"
    )
    return head.stage(
        "bias",
        "A bias by distance",
        recorded,
        formula=r"S_{ij} \mathrel{+}= b_{h,\,\text{bucket}(j - i)}"
        if is_learned
        else r"S_{ij} \mathrel{+}= -m_h \, |i - j|",
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(product), Operand(added, CELL, "+")],
        result=Matrix("scores S", scores, head.queries, head.keys, path=f"{head.path}.{recorded}"),
        code=[
            *(tapping(scaled_dot_product_attention, name) for name in ("position_bias", recorded)),
            whole(RelativeBias.forward if is_learned else LinearBias.forward),
        ],
        notice="Positions come in here. Along each diagonal the distance is the same, and so is the bias: "
        f"{where}. In this head it lies between {number(float(bias.min()), 2)} and "
        f"{number(float(bias.max()), 2)}.{most}",
    )


def weighing(head: Head) -> Iterator[Stage]:
    """The mask and the softmax."""
    way = head.way
    scores, weights = (way.record(f"{head.path}.{name}", 0, head.number) for name in ("scores", "weights"))
    mask = head.mask
    closed = ~mask
    before = Matrix("scores S", scores, head.queries, head.keys, path=f"{head.path}.scores")
    masked = replace(
        before,
        name="masked S",
        values=np.where(mask, scores, np.float32(-np.inf)),
        closed=closed,
        path=f"{head.path}.masked",
    )
    yield _masked(head, before, masked, mask)
    # A query with a single open key has no choice to show.
    is_choosing = mask.sum(axis=1, keepdims=True) > 1
    most = _largest(np.where(is_choosing, weights, np.float32(0)) if is_choosing.any() else weights)
    share = float(weights[most])
    zeros = ", and a closed cell gets exactly 0" if closed.any() else ""
    among = " among several open keys" if closed.any() else ""
    yield head.stage(
        "weights",
        "Weights: softmax over the keys",
        "weights",
        formula=r"A_{ij} = \frac{e^{S_{ij}}}{\sum_{j'} e^{S_{ij'}}}",
        shape=("B", "H", "Q", "K"),
        part=(0, head.number),
        operands=[Operand(masked, ROW, "softmax of")],
        result=Matrix("weights A", weights, head.queries, head.keys, "share", f"{head.path}.weights", closed),
        code=[tapping(scaled_dot_product_attention, "weights"), _softmax_line(mask)],
        notice=f"Each row becomes shares that sum to 1{zeros}. The largest weight{among} is "
        f"{number(share, 2)}: {quoted(head.queries.labels[most[0]])} looks at "
        f"{quoted(head.keys.labels[most[1]])}.",
    )


def _masked(head: Head, before: Matrix, masked: Matrix, mask: NDArray[np.bool_]) -> Stage:
    n = int((~mask).sum())
    is_causal = head.way.stack == "decoder" and head.name == "self_attn"
    if is_causal:
        why = "A token may look at itself and at those before it: those after it are what it is to predict."
    elif head.name == "cross_attn":
        why = "The source is known as a whole, so every query may look at all of it."
    else:
        why = "An encoder may look both ways."
    window = head.way.config.attention_window(head.way.stack, head.way.layer)
    if window and head.name == "self_attn":
        why += f" This layer has a window: keys {window:,} or more positions away are closed."
    closes = (
        f"{n} of the {mask.size} cells are closed: their score becomes −∞, which softmax makes 0."
        if n
        else f"One sentence alone has no padding: all {mask.size} cells are open, and the scores stay."
    )
    shown = Matrix("mask", mask.astype(np.float32), before.rows, before.columns, "share", f"{head.path}.mask")
    return head.stage(
        "mask",
        "The mask",
        "mask",
        formula=r"S_{ij} = \begin{cases} S_{ij} & \text{where the mask is True: may attend} \\ -\infty & "
        r"\text{elsewhere} \end{cases}",
        shape=("B", "1", "1" if head.way.sizes(f"{head.path}.mask")[2] == 1 else "Q", "K"),
        part=(),
        operands=[Operand(before), Operand(shown, CELL, "where")],
        result=masked,
        code=[tapping(scaled_dot_product_attention, "mask"), _softmax_line(mask)],
        notice=f"{why} {closes}",
    )


def _softmax_line(mask: NDArray[np.bool_]) -> Lines:
    """The line of `masked_softmax` for a mask without closed cells, without closed rows, or with some."""
    if mask.all():
        return calling(masked_softmax, "softmax")
    return calling(masked_softmax, "where") if mask.any(-1).all() else assigning(masked_softmax, "weights")


def taking_in(head: Head) -> Stage:
    """Weights times values."""
    way, config = head.way, head.way.config
    weights = way.record(f"{head.path}.weights", 0, head.number)
    v = way.record(f"{head.path}.v", 0, head.shared)
    z = way.record(f"{head.path}.z", 0, head.number)
    row, rest = len(weights) - 1, ", and less of the others" if weights.shape[1] > 2 else ""
    order = np.argsort(-weights[row])[:2]
    said = " and ".join(
        f"{number(float(weights[row, key]), 2)} of the value of {quoted(head.keys.labels[key])}"
        for key in order
    )
    return head.stage(
        "z",
        "Weights times values",
        "z",
        formula=r"Z = A V",
        shape=SHAPES["q"],
        part=(0, head.number),
        operands=[
            Operand(
                Matrix(
                    "weights A", weights, head.queries, head.keys, "share", f"{head.path}.weights", ~head.mask
                ),
                ROW,
            ),
            Operand(per_token("V", v, head.keys, f"{head.path}.v"), COLUMN, "×"),
        ],
        result=per_token("Z", z, head.queries, f"{head.path}.z"),
        code=[tapping(scaled_dot_product_attention, "z")],
        notice="A row of Z is an average of the values, by the weights of its row. That of "
        f"{quoted(head.queries.labels[row])} has {said}{rest}. It has {config.d_head} numbers, the width of "
        "one head.",
    )


def _largest(values: Array) -> tuple[int, int]:
    """The row and column of the largest finite number."""
    return divmod(int(np.nan_to_num(values, nan=-np.inf, posinf=-np.inf).argmax()), values.shape[1])
