"""The steps of the path: one per stage, with the numbers of the chosen token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viz.components.path import Part, Step
from viz.pages.step_by_step.path.parts import motion_of, parts_of
from viz.pages.step_by_step.path.scales import with_shared_scales
from viz.pages.step_by_step.path.sentences import sentence_of
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.way import Way

CHAPTERS = {"self": "Self-attention", "cross": "Cross-attention", "ff": "Feed-forward"}


def steps_of(stages: Sequence[Stage], way: Way) -> list[Step]:
    """The steps, in the order of the stages."""
    named: dict[str, str] = {}
    own_parts = [(stage, [_named(part, named) for part in parts_of(stage, way)]) for stage in stages]
    parts = with_shared_scales(_kept(own_parts))
    return [
        Step(
            stage.name,
            chapter_of(stage, way),
            stage.title,
            motion_of(stage),
            own,
            sentence_of(stage, own, way),
        )
        for stage, own in zip(stages, parts, strict=True)
    ]


def _kept(steps: Sequence[tuple[Stage, list[Part]]]) -> list[tuple[Stage, list[Part]]]:
    """Keep a query or weights in sight while the keys or values that they meet next are computed."""
    kept: list[tuple[Stage, list[Part]]] = []
    waiting: Part | None = None
    for stage, parts in steps:
        if motion_of(stage) == "each":
            kept.append((stage, [replace(waiting, role="kept"), *parts] if waiting else parts))
        else:
            kept.append((stage, parts))
            waiting = parts[-1]
    return kept


def _named(part: Part, named: dict[str, str]) -> Part:
    """Keep the name under which a tensor first appeared, as long as the same numbers are shown."""
    if part.form not in ("strip", "rows"):
        return part
    return replace(part, name=named.setdefault(part.group, part.name))


def chapter_of(stage: Stage, way: Way) -> str:
    """The part of the model that a stage belongs to, in one or two words."""
    if stage.stack is None or stage.name == f"{way.writer}-final-norm":
        return "Next token"
    if stage.stack != way.stack:
        return stage.stack.capitalize()
    if stage.name.startswith("layers-"):
        return stage.title.partition(" of ")[0]
    if ".layers." in stage.block and not stage.is_summary:
        return CHAPTERS[stage.name.partition("-")[0]]
    return "Memory" if stage.name in ("memory", "encoder-final-norm") else "Embedding"
