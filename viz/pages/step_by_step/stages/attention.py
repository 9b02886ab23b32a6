"""One attention: a head from its queries to its output, then all heads together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from transformer.model.trace import AttentionName
from viz.pages.step_by_step.stages.head import Head
from viz.pages.step_by_step.stages.merging import merging
from viz.pages.step_by_step.stages.projections import groups, projection
from viz.pages.step_by_step.stages.scores import scaling, scoring, taking_in, weighing
from viz.pages.step_by_step.stages.stage import Matrix, Stage
from viz.pages.step_by_step.stages.way import Way


def attention(way: Way, name: AttentionName, x: Matrix, memory: Matrix) -> Iterator[Stage]:
    """The stages of one head and of the merged heads."""
    head = Head(way, name, x, memory)
    yield from projection(head, "q")
    yield from scaling(head)
    yield from projection(head, "k")
    if way.config.n_kv_heads < way.config.n_heads:
        yield groups(head)
    yield from scoring(head)
    yield from weighing(head)
    yield from projection(head, "v")
    yield taking_in(head)
    for stage in merging(way, head.path, head.queries):
        yield replace(stage, name=f"{name.removesuffix('_attn')}-{stage.name}", block=head.block)
