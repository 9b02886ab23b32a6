"""A sentence's whole way through a model, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from transformer.analysis.attention_maps import stacks
from transformer.model.stacks import Decoder, Encoder
from transformer.model.trace import Stack
from transformer.model.transformer import Transformer
from viz.figures.numbers import number
from viz.pages.step_by_step.stages.layer import layer, memory_of, stream
from viz.pages.step_by_step.stages.reading import reading
from viz.pages.step_by_step.stages.source import assigning, calling
from viz.pages.step_by_step.stages.stage import ALL, Operand, Stage
from viz.pages.step_by_step.stages.way import Way
from viz.pages.step_by_step.stages.writing import final_norm, writing


def stages_of(way: Way) -> list[Stage]:
    """All stages in order, with unique names."""
    return list(_stages(way))


def first_row(way: Way) -> int:
    """The first row of the predicting stack from which a token is chosen."""
    if way.writer == "encoder" or not way.config.has_generator:
        return 0
    return len(way.run.target_ids) - len(way.run.target.ids) - 1


def _stages(way: Way) -> Iterator[Stage]:
    for stack in stacks(way.run.trace):
        yield from _through(way, stack)
    yield from writing(way)


def _through(way: Way, stack: Stack) -> Iterator[Stage]:
    n_layers = way.n_layers(stack)
    yield from reading(way, stack)
    if stack == way.stack:
        if way.layer:
            yield _layers(way, stack, 0, way.layer)
        yield from layer(way)
        if way.layer + 1 < n_layers:
            yield _layers(way, stack, way.layer + 1, n_layers)
    else:
        yield _layers(way, stack, 0, n_layers)
    yield from final_norm(way, stack)
    if stack == "encoder" and way.config.kind == "encoder-decoder":
        yield _memory(way)


def _layers(way: Way, stack: Stack, start: int, stop: int) -> Stage:
    """The stage for the layers not shown in detail: their input and output."""
    before, after = stream(way, stack, start), stream(way, stack, stop - 1, "resid_post")
    path = after.path
    n = stop - start
    said = f"layer {start}" if n == 1 else f"layers {start} to {stop - 1}"
    what, which = ("This layer", "it") if n == 1 else (f"Each of these {n} layers", "one")
    weights = "the same weights again" if way.config.shared_layers else "weights of its own"
    sizes = [float(np.linalg.norm(matrix.values, axis=1).mean()) for matrix in (before, after)]
    when = "before" if stack == way.stack and stop <= way.layer else "after"
    name = f"layers-{when}" if stack == way.stack else f"{stack}-layers"
    return Stage(
        name=name,
        title=f"{said.capitalize()} of the {stack}",
        stack=stack,
        block=f"{stack}.layers.0.self_attn",
        formula=r"X \leftarrow \text{layer}_{" + str(stop - 1) + r"}(" + (r"\ldots " if n > 1 else "") + "X)",
        path=path,
        operands=[Operand(before, ALL)],
        result=after,
        code=[assigning((Encoder if stack == "encoder" else Decoder).forward, "x")],
        notice=f"{what} goes through the same stages with {weights}: choose {which} above to walk "
        f"through it. On average the rows were {number(sizes[0], 2)} long before, and are "
        f"{number(sizes[1], 2)} after.",
        is_summary=True,
    )


def _memory(way: Way) -> Stage:
    memory = memory_of(way)
    return Stage(
        name="memory",
        title="What the decoder gets to read",
        stack="encoder",
        block="encoder.final_norm"
        if way.config.ends_with_norm("encoder")
        else "encoder.layers.0.feed_forward",
        formula=r"M = \text{encoder}(X)",
        path=memory.path,
        shape=("B", "S", "D"),
        operands=[Operand(replace(memory, name="X"))],
        result=memory,
        code=[calling(Transformer.forward, "encode")],
        notice=f"The encoder is done: {len(memory.values)} vectors of {memory.values.shape[1]:,} numbers, "
        "one per token of the source, each by now about its token in this sentence. Every layer of the "
        "decoder makes its cross-attention's keys and values of them. They are computed once, however many "
        "tokens are written.",
        is_summary=True,
    )
