"""One stage on the page: its pictures, its formula, what to notice, and the lines that computed it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

import streamlit as st

from viz.components.stage import stage_view
from viz.pages.shared.explain import prose
from viz.pages.step_by_step.pictures import pictures_of
from viz.pages.step_by_step.stages.source import Lines
from viz.pages.step_by_step.stages.stage import Stage
from viz.pages.step_by_step.stages.way import Way
from viz.theme import Theme


def show_stage(stage: Stage, way: Way, theme: Theme) -> None:
    """Draw a stage."""
    st.header(stage.title)
    if place := _place(stage, way):
        st.caption(place)
    stage_view(
        pictures_of(stage, way),
        stage=f"{stage.name} {stage.stack} {way.layer} {way.head}",
        colors=theme,
        key="stage_pictures",
        title=f"{stage.title}: the numbers of this stage",
    )
    prose(f"**Notice** {stage.notice}")
    if stage.formula:
        st.latex(stage.formula)
    st.markdown(recorded(stage, way))
    _code(stage.code)


def _place(stage: Stage, way: Way) -> str:
    """Name the part of the model that a stage belongs to."""
    if stage.stack is None:
        return "" if way.writer == "encoder" else "After the last layer"
    stack = stage.stack.capitalize()
    if stage.is_summary or ".layers." not in stage.block:
        return stack
    return f"{stack}, layer {way.layer}, head {way.head}"


def recorded(stage: Stage, way: Way) -> str:
    """Name the recorded tensor that is shown, as Markdown."""
    if not stage.path:
        rows, columns = stage.result.values.shape
        what = "text" if stage.result.kind == "words" else f"{rows:,} × {columns:,}"
        return f"Intermediate result, not stored separately ({what})."
    shape = f"({', '.join(stage.shape)}) = ({', '.join(f'{size:,}' for size in way.sizes(stage.path))})"
    part = f", of which `[{', '.join(map(_index, stage.part))}]` is shown" if stage.part else ""
    return f"Recorded as `{stage.path}`, shape {shape}{part}"


def _index(index: object) -> str:
    return str(index) if isinstance(index, int) else ":" if isinstance(index, slice) else "the ids shown"


def _code(code: Sequence[Lines]) -> None:
    """Draw the statements with their locations, each with an expander for its function."""
    seen: set[tuple[str, int]] = set()
    for lines in code:
        st.markdown(f"Computed by `{lines.place}` in `{lines.function}`")
        st.code(numbered(lines.text, lines.first), language="python", wrap_lines=True)
        around = (lines.file, lines.around[0])
        if around not in seen and (lines.first, lines.last) != lines.around:
            seen.add(around)
            with st.expander(f"All of `{lines.function}`"):
                st.code(numbered(lines.source, lines.around[0]), language="python", wrap_lines=True)


def numbered(source: str, first: int) -> str:
    """Number lines as in their file, and remove their common indentation."""
    lines = dedent(source).split("\n")
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{number:>{width}}  {line}" for number, line in enumerate(lines, first))
