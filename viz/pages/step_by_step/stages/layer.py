"""A layer: sublayers added to the residual stream, with a norm before or after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transformer.model.feed_forward import FeedForward
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.trace import AttentionName, Stack
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.attention import attention
from viz.pages.step_by_step.stages.norms import norm_stage
from viz.pages.step_by_step.stages.source import Lines, assigning, returning, returning_sum, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, CELL, COLUMN, ROW, Array, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, biased, factor, numbered, per_token

ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}
ACTIVATION_NOTES = {
    "relu": "ReLU makes 0 of what is negative",
    "gelu": "GELU leaves positive numbers nearly as they are and brings negative ones close to 0",
    "gelu_tanh": "GELU, by its approximation with tanh, brings negative numbers close to 0",
    "silu": "SiLU, x times its own sigmoid, brings negative numbers close to 0",
}
AFTER = {"self_attn": "resid_mid", "cross_attn": "resid_mid_cross", "feed_forward": "resid_post"}
"""The name of the residual stream after each sublayer."""


PARALLEL = (
    "In this model the two sublayers stand side by side: the feed-forward reads what the layer began with, "
    "not what the attention has added to it, and both are added to the stream."
)


def stream(way: Way, stack: Stack, layer: int, name: str = "resid_pre") -> Matrix:
    """The residual stream at one point of a layer."""
    path = f"{stack}.layers.{layer}.{name}"
    return per_token("X", way.record(path, 0), way.axis(stack), path)


def memory_of(way: Way) -> Matrix:
    """The encoder's output, which the decoder reads."""
    last = f"encoder.layers.{way.config.n_encoder_layers - 1}.resid_post"
    path = "encoder.final_norm.result" if way.config.ends_with_norm("encoder") else last
    return per_token("M", way.record(path, 0), way.axis("encoder"), path)


def layer(way: Way) -> Iterator[Stage]:
    """All stages of the chosen layer."""
    x = stream(way, way.stack, way.layer)
    start = x
    names: list[AttentionName] = ["self_attn"]
    if way.stack == "decoder" and way.config.kind == "encoder-decoder":
        names.append("cross_attn")
    for name in names:
        yield from _attending(way, name, x)
        x = stream(way, way.stack, way.layer, AFTER[name])
    yield from _feeding(way, start if way.config.parallel_residual else x, x)


def _attending(way: Way, name: AttentionName, x: Matrix) -> Iterator[Stage]:
    read = x
    if way.config.has_norms_before:
        stage = _norm(way, name)
        read = stage.result
        yield stage
    own = attention(way, name, read, memory_of(way) if name == "cross_attn" else read)
    stages = list(own)
    yield from stages
    yield from _added(way, name, x, stages[-1].result)


def _feeding(way: Way, read: Matrix, x: Matrix) -> Iterator[Stage]:
    """The feed-forward network and the sum of its output with the stream x."""
    if way.config.has_norms_before:
        stage = _norm(way, "feed_forward")
        if way.config.parallel_residual:
            stage = replace(stage, notice=f"{stage.notice} {PARALLEL}")
        read = stage.result
        yield stage
    stages = list(_feed_forward(way, read))
    yield from stages
    yield from _added(way, "feed_forward", x, stages[-1].result)


def _short(name: str) -> str:
    return {"self_attn": "self", "cross_attn": "cross", "feed_forward": "ff"}[name]


def _norm(way: Way, name: str) -> Stage:
    is_pre = way.config.has_norms_before
    what = {"self_attn": "self-attention", "cross_attn": "cross-attention", "feed_forward": "feed-forward"}[
        name
    ]
    note = (
        " The stream itself stays as it is: only what the sublayer reads is brought to one size."
        if is_pre
        else " This is the stream from now on: post-norm brings even the residual path to one size."
    )
    return norm_stage(
        way,
        f"{way.stack}.layers.{way.layer}.{name}_norm",
        way.stack,
        block=f"{way.stack}.layers.0.{name}_norm",
        name=f"{_short(name)}-norm",
        title=f"The norm {'before' if is_pre else 'after'} the {what}",
        tokens=way.axis(way.stack),
        note=note,
    )


def _post_norm(way: Way, name: str) -> Stage:
    """The norm of a sublayer's output."""
    path = f"{way.stack}.layers.{way.layer}.{name}_post_norm"
    return norm_stage(
        way,
        path,
        way.stack,
        block=f"{way.stack}.layers.0.{name}_post_norm",
        name=f"{_short(name)}-post-norm",
        title="The norm of what is added",
        tokens=way.axis(way.stack),
        note=" This model norms what a sublayer reads and once more what it adds to the stream."
        if way.config.has_norms_before
        else " This model norms only what a sublayer adds to the stream; what it reads stays as it is.",
    )


def _weakened(way: Way, name: str, out: Matrix) -> Stage:
    """A sublayer's output times residual_scale."""
    scale = way.config.residual_scale
    result = replace(out, name=f"{scale:g} · {out.name}", values=out.values * np.float32(scale), path="")
    return Stage(
        name=f"{_short(name)}-residual-scale",
        title="Times a factor of the model",
        stack=way.stack,
        block=f"{way.stack}.layers.0.{name}",
        formula=rf"{scale:g} \cdot \text{{Sublayer}}",
        operands=[Operand(out), Operand(factor("residual_scale", scale), ALL, "×")],
        result=result,
        code=[whole(EncoderLayer.scaled)],
        notice=f"Every number is multiplied by {scale:g} before it is added: a number of the configuration, "
        "the same for all sublayers, which keeps the stream from growing fast where there are many layers.",
    )


def _added(way: Way, name: str, x: Matrix, out: Matrix) -> Iterator[Stage]:
    """The residual sum and, in a post-norm layer, its norm."""
    is_normed = way.config.norms_the_stream
    added = "\\text{Sublayer}(" + ("\\text{norm}(X)" if way.config.has_norms_before else "X") + ")"
    if way.config.norms_outputs:
        stage = _post_norm(way, name)
        yield stage
        out, added = stage.result, f"\\text{{norm}}({added})"
    if way.config.residual_scale != 1:
        stage = _weakened(way, name, out)
        yield stage
        out, added = stage.result, f"{way.config.residual_scale:g} \\cdot {added}"
    prefix = f"{way.stack}.layers.{way.layer}"
    path = f"{prefix}.{name}_norm.input" if is_normed else f"{prefix}.{AFTER[name]}"
    total = way.record(path, 0)
    kept, new = (float(np.linalg.norm(part, axis=1).mean()) for part in (x.values, out.values))
    what = {
        "self_attn": "the attention",
        "cross_attn": "the cross-attention",
        "feed_forward": "the feed-forward",
    }[name]
    yield Stage(
        name=f"{_short(name)}-sum",
        title="Added to the residual stream",
        stack=way.stack,
        block=f"{way.stack}.layers.0.{name}",
        formula=rf"X \leftarrow X + {added}",
        path=path,
        operands=[Operand(x), Operand(replace(out, rows=x.rows), CELL, "+")],
        result=per_token("X", total, way.axis(way.stack), path),
        code=[_residual_line(way), *([] if is_normed else [_point(way, AFTER[name])])],
        notice=f"The output of {what} does not replace the stream, it is added to it. On average the rows of "
        f"the stream were {number(kept, 2)} long and what is added is {number(new, 2)} long. So what earlier "
        "layers wrote stays there for later ones, and gradients have a direct way back.",
    )
    if is_normed:
        yield _norm(way, name)


def _point(way: Way, name: str) -> Lines:
    return tapping(_layer_class(way.stack).forward, name)


def _layer_class(stack: Stack) -> type[EncoderLayer] | type[DecoderLayer]:
    return EncoderLayer if stack == "encoder" else DecoderLayer


def _residual_line(way: Way) -> Lines:
    """The `residual` line used for pre- or post-norm."""
    residual = EncoderLayer.residual
    return returning(residual, "norm") if way.config.norms_the_stream else returning_sum(residual)


def _feed_forward(way: Way, read: Matrix) -> Iterator[Stage]:
    config, path = way.config, f"{way.stack}.layers.{way.layer}.feed_forward"
    tokens = way.axis(way.stack)
    first = "gate" if config.gated else "hidden"
    activated = way.record(f"{path}.{first}", 0)
    n_closed = float((activated <= 0).mean())
    zero = "are 0" if config.activation == "relu" else "are 0 or less"
    function = ACTIVATIONS[config.activation]
    yield _widened(
        way,
        read,
        path,
        "w_1",
        first,
        "ff-gate" if config.gated else "ff-hidden",
        f"{'The gate' if config.gated else 'Hidden numbers'}: wider, through {function}",
        rf"{'G' if config.gated else 'H'} = \text{{{function}}}(X W_1{_bias_said(way, path, 'w_1', '1')})",
        f"{function} of",
        f"Each token by itself becomes {config.d_ff:,} numbers. {ACTIVATION_NOTES[config.activation]}: here "
        f"{n_closed:.0%} {zero}. A hidden number is a pattern that a token may fit or not.",
    )
    if config.gated:
        yield _gated(way, read, path, per_token("G", activated, tokens, f"{path}.gate", "hidden number"))
    hidden = per_token("H", way.record(f"{path}.hidden", 0), tokens, f"{path}.hidden", "hidden number")
    out = way.record(f"{path}.out", 0)
    sizes = np.linalg.norm(out, axis=1)
    at = int(sizes.argmax())
    dimensions = numbered("dimension", config.d_model)
    yield Stage(
        name="ff-out",
        title="Back to the width of the stream",
        stack=way.stack,
        block=f"{way.stack}.layers.0.feed_forward",
        formula=rf"\text{{FFN}}(X) = H W_2{_bias_said(way, path, 'w_2', '2')}",
        path=f"{path}.out",
        operands=[
            Operand(hidden, ROW),
            Operand(_matrix(way, path, "w_2", config.d_ff, config.d_model), COLUMN, "×"),
            *biased(way, f"{path}.w_2.bias", slice(None), COLUMN, dimensions),
        ],
        result=per_token("out", out, tokens, f"{path}.out"),
        code=[tapping(FeedForward.forward, "out")],
        notice="A hidden number says how much of its row of W_2 is added: that row is what the pattern has "
        f"the layer write. The longest row is that of {quoted(tokens.labels[at])}, "
        f"{number(float(sizes[at]), 2)}.",
    )


def _bias_said(way: Way, path: str, weight: str, index: str) -> str:
    return f" + b_{index}" if way.has_weight(f"{path}.{weight}.bias") else ""


def _matrix(way: Way, path: str, weight: str, rows: int, columns: int) -> Matrix:
    titles = ("dimension", "hidden number") if rows == way.config.d_model else ("hidden number", "dimension")
    own = f"{path}.{weight}.weight"
    name = f"W_{weight[-1]}"
    return Matrix(name, way.weight(own).T, numbered(titles[0], rows), numbered(titles[1], columns), path=own)


def _widened(
    way: Way,
    read: Matrix,
    path: str,
    weight: str,
    recorded: str,
    name: str,
    title: str,
    formula: str,
    sign: str,
    notice: str,
) -> Stage:
    config = way.config
    values: Array = way.record(f"{path}.{recorded}", 0)
    hidden = numbered("hidden number", config.d_ff)
    return Stage(
        name=name,
        title=title,
        stack=way.stack,
        block=f"{way.stack}.layers.0.feed_forward",
        formula=formula,
        path=f"{path}.{recorded}",
        shape=("B", "T", "d_ff"),
        operands=[
            Operand(replace(read, name="X"), ROW, sign),
            Operand(_matrix(way, path, weight, config.d_model, config.d_ff), COLUMN, "×"),
            *biased(way, f"{path}.{weight}.bias", slice(None), COLUMN, hidden),
        ],
        result=per_token(
            "G" if recorded == "gate" else "H",
            values,
            way.axis(way.stack),
            f"{path}.{recorded}",
            "hidden number",
        ),
        code=[
            assigning(FeedForward.forward, "hidden"),
            tapping(FeedForward.forward, recorded),
        ],
        notice=notice,
    )


def _gated(way: Way, read: Matrix, path: str, gate: Matrix) -> Stage:
    """Hidden numbers of a gated feed-forward: the gate times a second projection of the input."""
    stage = _widened(
        way,
        read,
        path,
        "w_3",
        "hidden",
        "ff-hidden",
        "Gated: times a second projection",
        rf"H = G \odot (X W_3{_bias_said(way, path, 'w_3', '3')})",
        "⊙",
        "A second matrix makes as many numbers of the same row, and the gate says how much of each passes: a "
        f"number is large only where both are. The strongest hidden number is "
        f"{number(float(np.abs(way.record(f'{path}.hidden', 0)).max()), 2)}.",
    )
    return replace(
        stage,
        operands=[Operand(gate), *stage.operands],
        code=[tapping(FeedForward.forward, "gate"), tapping(FeedForward.forward, "hidden")],
    )
