"""From the last layer to the next token and the next step's input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from transformer.decoding.greedy import DecodingStep, next_token_probabilities
from transformer.model.attention import soft_capped
from transformer.model.trace import Stack
from transformer.model.transformer import GeneratorTransform, Transformer
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.step_by_step.stages.choosing import choice, round_again
from viz.pages.step_by_step.stages.feed_forward import ACTIVATIONS
from viz.pages.step_by_step.stages.layer import memory_of, stream
from viz.pages.step_by_step.stages.norms import norm_stage
from viz.pages.step_by_step.stages.source import assigning, calling, tapping, whole
from viz.pages.step_by_step.stages.stage import ALL, CELL, COLUMN, ROW, Axis, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, biased, factor, numbered, per_token, single

BEST = 12
"""The number of vocabulary entries shown, the most probable ones."""


def final_norm(way: Way, stack: Stack) -> Iterator[Stage]:
    """The final norm of a stack, if there is one."""
    if way.config.ends_with_norm(stack):
        path = f"{stack}.final_norm"
        yield norm_stage(
            way,
            path,
            stack,
            block=path,
            name=f"{stack}-final-norm",
            title=f"The final norm of the {stack}",
            tokens=way.axis(stack),
        )


def last_state(way: Way) -> Matrix:
    """The final hidden states of the predicting stack."""
    if way.writer == "encoder":
        return memory_of(way)
    if way.config.ends_with_norm("decoder"):
        path = "decoder.final_norm.result"
        return per_token("X", way.record(path, 0), way.axis("decoder"), path)
    return stream(way, "decoder", way.config.n_decoder_layers - 1, "resid_post")


def writing(way: Way) -> Iterator[Stage]:
    """From the last hidden states to the chosen token; nothing without a generator."""
    if not way.config.has_generator:
        return
    x = last_state(way)
    if way.config.generator_transform:
        stages = list(_transform(way, x))
        yield from stages
        x = stages[-1].result
    if way.config.logits_scale:
        stage = _shrunk(way, x)
        yield stage
        x = stage.result
    ids = best_ids(way)
    stage = _logits(way, x, ids)
    yield stage
    if way.config.logits_soft_cap:
        yield _capped(way, stage.result, ids)
    stage = _probabilities(way, ids)
    yield stage
    probabilities = stage.result
    step = step_at(way)
    yield choice(way, probabilities, int(ids[0]), step)
    if way.writer == "decoder" and step is not None:
        yield round_again(way, step)


def suppressed(way: Way) -> tuple[int, ...]:
    """The ids that are never predicted."""
    return way.coder(way.writer).special_tokens.suppressed


def best_ids(way: Way) -> NDArray[np.int64]:
    """The vocabulary entries shown, the most probable first."""
    logits = way.record("logits", 0, way.position).astype(np.float64)
    logits[list(suppressed(way))] = -np.inf
    order = np.argsort(-np.nan_to_num(logits, nan=-np.inf), kind="stable")
    return order[: min(BEST, len(logits) - len(suppressed(way)))].astype(np.int64)


def step_at(way: Way) -> DecodingStep | None:
    """The decoding step that used this row of logits; None if there was none."""
    first = len(way.run.target_ids) - len(way.run.target.ids) - 1 if way.writer == "decoder" else 0
    return next((step for step in way.run.steps if first + step.position == way.position), None)


def _transform(way: Way, x: Matrix) -> Iterator[Stage]:
    path, config, tokens = "generator_transform", way.config, way.axis(way.writer)
    dimensions = numbered("dimension", config.generator_width)
    weight = f"{path}.dense.weight"
    function = ACTIVATIONS[config.activation]
    read = numbered("dimension", config.d_model)
    matrix = Matrix("W", way.weight(weight).T, read, dimensions, path=weight)
    hidden = way.record(f"{path}.hidden", 0)
    said = " + b" if way.has_weight(f"{path}.dense.bias") else ""
    yield Stage(
        name="transform",
        title="One more dense layer",
        stack=None,
        block=path,
        formula=rf"H = \text{{{function}}}(X W{said})",
        path=f"{path}.hidden",
        operands=[
            Operand(x, ROW, f"{function} of"),
            Operand(matrix, COLUMN, "×"),
            *biased(way, f"{path}.dense.bias", slice(None), COLUMN, dimensions),
        ],
        result=per_token("H", hidden, tokens, f"{path}.hidden"),
        code=[tapping(GeneratorTransform.forward, "hidden")],
        notice="Masked language models like BERT have one more layer between the stack and the generator. "
        f"Of its {hidden.size:,} numbers here {float((hidden <= 0).mean()):.0%} are 0 or less.",
    )
    yield norm_stage(
        way,
        f"{path}.norm",
        None,
        block=path,
        name="transform-norm",
        title="The norm of that layer",
        tokens=tokens,
    )


def _multiplied(way: Way, x: Matrix) -> Stage:
    """Hidden states times the factor in the model's configuration."""
    scale = way.config.logits_factor
    return Stage(
        name="logits-scale",
        title="Times a factor of the model",
        stack=None,
        block="generator",
        formula=rf"{scale:g} \cdot X",
        operands=[Operand(x), Operand(factor("logits_scale", scale), ALL, "×")],
        result=per_token(f"{scale:g} · X", x.values * np.float32(scale), x.rows, "scaled for logits"),
        code=[assigning(Transformer.propose, "x")],
        notice=f"Every number is multiplied by {scale:g}, a number of the configuration: it says how far "
        "apart the logits are, and so how sure the model sounds.",
    )


def _shrunk(way: Way, x: Matrix) -> Stage:
    if way.config.logits_scale is not True:
        return _multiplied(way, x)
    root = float(np.sqrt(way.config.d_model))
    return Stage(
        name="logits-scale",
        title="Divided by the square root of d_model",
        stack=None,
        block="generator",
        formula=rf"\frac{{X}}{{\sqrt{{d_\text{{model}}}}}}, \quad \sqrt{{{way.config.d_model}}} = {root:.4g}",
        operands=[
            Operand(x),
            Operand(factor("√d_model", root), ALL, "÷"),
        ],
        result=per_token("X / √d_model", x.values / np.float32(root), x.rows, "scaled for logits"),
        code=[assigning(Transformer.propose, "x")],
        notice=f"Every number becomes {root:.4g} times smaller. The generator's matrix is the embedding's, "
        "whose rows are long; without this the logits would be too far apart.",
    )


def _capped(way: Way, before: Matrix, ids: NDArray[np.int64]) -> Stage:
    """Logits passed through tanh, so that none exceeds the cap."""
    cap = way.config.logits_soft_cap
    values = way.record("logits", 0)[:, ids]
    moved = float(np.abs(values - before.values).max())
    return Stage(
        name="logits-cap",
        title="A soft cap on the logits",
        stack=None,
        block="generator",
        formula=rf"L \leftarrow {cap:g} \tanh(L / {cap:g})",
        path="logits",
        shape=("B", "T", "V"),
        part=(0, slice(None), ids),
        operands=[Operand(before, CELL, f"{cap:g} tanh of"), Operand(factor("soft cap", cap), ALL, "÷")],
        result=replace(before, values=values, path="logits"),
        code=[
            calling(Transformer.propose, "soft_capped"),
            tapping(Transformer.propose, "logits"),
            whole(soft_capped),
        ],
        notice=f"No logit passes {cap:g} either way, and their order stays. Of those shown the cap moves one "
        f"by {number(moved, 2)} at most.",
    )


def _logits(way: Way, x: Matrix, ids: NDArray[np.int64]) -> Stage:
    config, coder = way.config, way.coder(way.writer)
    entries = Axis("vocabulary entry", [visible(coder.token(int(index))) for index in ids], has_words=True)
    n_entries = way.n_rows("generator.weight")
    matrix = Matrix(
        "Wᵀ",
        way.weight("generator.weight", ids).T,
        numbered("dimension", config.generator_width),
        entries,
        path="generator.weight",
    )
    recorded = "logits_uncapped" if config.logits_soft_cap else "logits"
    values = way.record(recorded, 0)[:, ids]
    tokens = way.axis(way.writer)
    biases = way.has_weight("generator.bias")
    operands = [Operand(x, ROW), Operand(matrix, COLUMN, "×")]
    if biases:
        row = Matrix("b", way.weight("generator.bias", ids)[None], single(), entries, path="generator.bias")
        operands.append(Operand(row, COLUMN, "+"))
    tied = (
        " The generator's matrix is the embedding's (tied weights): a logit is high where the state points "
        "the way that the token's own embedding does."
        if config.tie_generator
        else " The generator has a matrix of its own."
    )
    low, high = (number(float(values[way.position, at]), 2) for at in (-1, 0))
    return Stage(
        name="logits",
        title="Logits",
        stack=None,
        block="generator",
        formula=r"L = X W^\top" + (" + b" if biases else ""),
        path=recorded,
        shape=("B", "T", "V"),
        part=(0, slice(None), ids),
        operands=operands,
        result=Matrix("L", values, tokens, entries, path=recorded),
        code=[assigning(Transformer.propose, "logits"), tapping(Transformer.propose, recorded)],
        notice=f"One number for each of the {n_entries:,} entries of the vocabulary, in every row; shown "
        f"are the {len(ids)} that are highest in row {way.position}, {quoted(tokens.labels[way.position])}. "
        f"There they go from {low} up to {high}.{tied}",
    )


def log_total(way: Way) -> float:
    """The log of the softmax denominator: the sum of e^logit over all allowed tokens."""
    logits = way.record("logits", 0, way.position).astype(np.float64)
    return float(np.logaddexp.reduce(np.delete(logits, list(suppressed(way)))))


def _probabilities(way: Way, ids: NDArray[np.int64]) -> Stage:
    logits, never = way.run.trace["logits"][0, way.position], suppressed(way)
    values = next_token_probabilities(logits, never).numpy()[ids][None]
    coder = way.coder(way.writer)
    entries = Axis("vocabulary entry", [visible(coder.token(int(index))) for index in ids], has_words=True)
    rows = Axis("token", (visible(way.tokens(way.writer)[way.position]),), has_words=True)
    total = Matrix("log Σ", np.array([[log_total(way)]], np.float32), rows, single(), path="log total")
    left_out = f" {len(never)} special tokens are never chosen and get 0." if never else ""
    rest = 1 - float(values.sum())
    return Stage(
        name="probabilities",
        title="Probabilities",
        stack=None,
        block="generator",
        formula=r"p_i = \frac{e^{L_i}}{\sum_j e^{L_j}} = e^{L_i - \log \sum_j e^{L_j}}",
        operands=[
            Operand(Matrix("L", logits.numpy()[ids][None], rows, entries, path="logits"), CELL, "exp of"),
            Operand(total, ALL, "−"),
        ],
        result=Matrix("p", values, rows, entries, "share", "probabilities"),
        code=[calling(next_token_probabilities, "softmax")],
        notice=f"Softmax over the whole vocabulary, in row {way.position} alone. "
        f"{quoted(entries.labels[0])} gets {float(values[0, 0]):.1%}; all that is not shown has "
        f"{max(rest, 0.0):.1%} together.{left_out}",
    )
