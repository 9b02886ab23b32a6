"""A feed-forward, or a mixture of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transformer.model.feed_forward import FeedForward, MixtureOfExperts
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.source import assigning, tapping
from viz.pages.step_by_step.stages.stage import CELL, COLUMN, ROW, Array, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, biased, column, numbered, per_token

ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU",
    "silu": "SiLU",
    "relu_squared": "squared ReLU",
}
ACTIVATION_NOTES = {
    "relu": "ReLU makes 0 of what is negative",
    "gelu": "GELU leaves positive numbers nearly as they are and brings negative ones close to 0",
    "gelu_tanh": "GELU, by its approximation with tanh, brings negative numbers close to 0",
    "silu": "SiLU, x times its own sigmoid, brings negative numbers close to 0",
    "relu_squared": "Squared ReLU makes 0 of what is negative and squares what is positive",
}


def experts(way: Way, read: Matrix, path: str) -> Iterator[Stage]:
    """The stages of a mixture of experts; in detail that with the largest weight for the followed token."""
    config, tokens, module = way.config, way.axis(way.stack), MixtureOfExperts
    logits, routing, out = (way.record(f"{path}.{name}", 0) for name in ("router_logits", "routing", "out"))
    axis = numbered("expert", config.n_experts)
    row = way.position if way.stack == way.writer else way.source
    shown = int(routing[row].argmax())
    outs = np.stack([way.record(f"{path}.experts.{i}.out", 0) for i in range(config.n_experts)], axis=1)
    others = np.einsum("te,ted->td", np.where(np.arange(config.n_experts) == shown, 0, routing), outs)
    weight = f"{path}.router.weight"
    router = Matrix("W_g", way.weight(weight).T, numbered("dimension", config.d_model), axis, path=weight)
    router_logits = Matrix("router logits", logits, tokens, axis, path=f"{path}.router_logits")
    first = Stage(
        name="ff-router",
        title="The router: a logit for each expert",
        stack=way.stack,
        block=f"{way.stack}.layers.0.feed_forward",
        formula="G = X W_g",
        path=f"{path}.router_logits",
        shape=("B", "T", "E"),
        operands=[Operand(replace(read, name="X"), ROW), Operand(router, COLUMN, "×")],
        result=router_logits,
        code=[tapping(module.forward, "router_logits")],
        notice=f"This layer has {config.n_experts} feed-forwards, called experts. A token's row says "
        "how well each suits it.",
    )
    yield first
    weights = Matrix("routing", routing, tokens, axis, "share", f"{path}.routing")
    yield replace(
        first,
        name="ff-routing",
        title=f"The {config.n_active_experts} best experts of each token",
        formula=rf"R_i = \text{{softmax of the largest {config.n_active_experts} of }} G_i",
        path=f"{path}.routing",
        operands=[Operand(router_logits, ROW, f"top-{config.n_active_experts} softmax of")],
        result=weights,
        code=[tapping(module.forward, "routing")],
        notice=f"Only the {config.n_active_experts} experts with the largest logits work for a token; their "
        f"weights sum to 1. For {quoted(tokens.labels[row])} that of expert {shown} is the largest; it is "
        "shown next.",
    )
    inner = f"{path}.experts.{shown}"
    for stage in feed_forward(way, read, inner):
        yield replace(stage, title=f"{stage.title}, in expert {shown}")
    yield replace(
        first,
        name="ff-mixture",
        title="The weighted sum of the experts",
        formula=r"\text{out} = \sum_e R_e \, \text{FFN}_e(X)",
        path=f"{path}.out",
        shape=("B", "T", "D"),
        operands=[
            Operand(column("weight", routing[:, shown], tokens, kind="share"), ROW),
            Operand(
                per_token(f"expert {shown}", way.record(f"{inner}.out", 0), tokens, f"{inner}.out"), CELL, "×"
            ),
            Operand(per_token("other experts", others, tokens), CELL, "+"),
        ],
        result=per_token("out", out, tokens, f"{path}.out"),
        code=[tapping(module.forward, "out")],
        notice=f"Each token gets the outputs of its own {config.n_active_experts} experts, by their weights.",
    )


def feed_forward(way: Way, read: Matrix, path: str) -> Iterator[Stage]:
    """The stages of a feed-forward."""
    config = way.config
    tokens = way.axis(way.stack)
    first = "gate" if config.gated else "hidden"
    activated = way.record(f"{path}.{first}", 0)
    n_closed = float((activated <= 0).mean())
    zero = "are 0" if config.activation in ("relu", "relu_squared") else "are 0 or less"
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
