"""A figure whose points can be clicked, and a table whose cells can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from viz.figures import export
from viz.figures.enlarged import enlarged
from viz.pages.shared.figure import save_menu
from viz.session import magnification

Item = TypeVar("Item")
WRAPPED = 65
"""Height in pixels of a row whose texts are wrapped: Streamlit wraps none in rows of 64 or less."""


def pick_point(
    figure: go.Figure,
    groups: Sequence[Sequence[Item]],
    choose: Callable[[Item], None],
    *,
    key: str,
    name: str,
    caption: str,
) -> None:
    """Draw the figure with its Save menu.

    Args:
        figure: one trace per group with items first, with one point per item.
        groups: the items.
        choose: called with the clicked item, from a callback.
        key: the figure's identity on the page.
        name: name of the saved files; letters, digits and dashes.
        caption: our own Markdown.
    """
    drawn = [group for group in groups if group]

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points and points[0]["curve_number"] < len(drawn):
            choose(drawn[points[0]["curve_number"]][points[0]["point_index"]])

    st.plotly_chart(
        enlarged(figure, magnification()),
        theme=None,
        key=key,
        config=export.CONFIG,
        alt=caption,
        on_select=clicked,
        selection_mode="points",
    )
    with st.container(horizontal=True):
        st.caption(caption, width="stretch")
        save_menu(lambda: figure, name=name, key=f"{key}_save")


def pick_row(
    table: pd.DataFrame,
    items: Sequence[Item],
    choose: Callable[[Item], None],
    *,
    key: str,
    columns: dict[str, Any],
    wraps: bool = False,
) -> None:
    """Draw a table with one row per item.

    Args:
        table: the table; a missing value is shown as a dash.
        items: the items, in the order of the rows.
        choose: called with a clicked row's item, from a callback.
        key: the table's identity on the page.
        columns: how its columns are drawn.
        wraps: wrap long texts, in higher rows.
    """

    def clicked() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            choose(items[cells[0][0]])

    st.dataframe(
        table,
        key=key,
        hide_index=True,
        on_select=clicked,
        selection_mode="single-cell",  # a row itself is selected by its checkbox only
        column_config=columns,
        row_height=round(WRAPPED * magnification()) if wraps else None,
        placeholder="–",
    )
