"""A layer: sublayers added to the residual stream, with a norm before or after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.trace import AttentionName, Stack
from viz.figures.numbers import number
from viz.pages.step_by_step.stages.attention import attention
from viz.pages.step_by_step.stages.feed_forward import experts, feed_forward
from viz.pages.step_by_step.stages.norms import norm_stage
from viz.pages.step_by_step.stages.source import Lines, returning, returning_sum, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, CELL, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, factor, per_token

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
    if way.config.reads_normed(way.layer, name):
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
    make = experts if way.config.n_experts else feed_forward
    stages = list(make(way, read, f"{way.stack}.layers.{way.layer}.feed_forward"))
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
    is_drawn = way.config.reads_normed(0, name) or not is_pre  # the drawing shows layer 0
    return norm_stage(
        way,
        f"{way.stack}.layers.{way.layer}.{name}_norm",
        way.stack,
        block=f"{way.stack}.layers.0.{name}{'_norm' if is_drawn else ''}",
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
    read = "\\text{norm}(X)" if way.config.reads_normed(way.layer, name) else "X"
    added = f"\\text{{Sublayer}}({read})"
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
