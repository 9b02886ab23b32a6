"""Two checkpoints: heads matched by what they do, and which of them changed most."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS
from transformer.analysis.roles.comparison import ComparisonError, HeadChange, compare
from transformer.analysis.roles.definitions import DEFINITIONS
from transformer.analysis.roles.report import HeadReport, HeadRoles
from viz.figures.head_roles import head_scatter
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.heads.one_head import draw_head
from viz.pages.heads.session import choose_head, chosen_head, place_of, uploaded
from viz.pages.shared.clickable import pick_point, pick_row
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.literal_text import escaped, refused
from viz.session import current_theme

ALTERED = 0.01
"""A change below this is a matter of rounding."""


@st.fragment
def changes_section(report: HeadReport) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("What changed between two checkpoints?")
    prose(
        "Analyse the checkpoint before and after fine-tuning on the same sentences, and add the earlier "
        "result here. The heads of each layer are matched by what they do, because training may exchange "
        "them; then those that changed most are listed."
    )
    before = uploaded("The earlier result: heads.json", key="heads_before")
    if before is None:
        st.info("There is only one result so far. Add the earlier one to compare the two.")
        return
    try:
        changes = compare(before, report)
    except ComparisonError as error:
        refused("These results can't be compared.", error)
        return
    _summary(before, report, changes)
    head = chosen_head(report, changes[0].after)
    _points(changes, head)
    computed_by(compare)
    _table(changes)
    draw_head(report, head)


def _summary(before: HeadReport, after: HeadReport, changes: Sequence[HeadChange]) -> None:
    moved = sum(one.before.head != one.after.head for one in changes)
    altered = [one for one in changes if one.change >= ALTERED]
    names = f"**{escaped(visible(before.model, 60))}** and **{escaped(visible(after.model, 60))}**"
    if not altered:
        st.markdown(f"{names}: no head changed.")
        return
    most, first = altered[0], min(altered, key=_depth)
    st.markdown(
        f"{names}: {len(altered)} of {len(changes)} heads changed; {moved} do what another head of their "
        f"layer did. Most: **{place_of(most.after)}** ({number(most.change, 2)}). The first layer with a "
        f"change is that of **{place_of(first.after)}**: what changed there reaches all later layers."
    )


def _depth(change: HeadChange) -> tuple[bool, int]:
    """The order in which a forward pass reaches the heads."""
    return change.after.attention != "encoder", change.after.layer


def _points(changes: Sequence[HeadChange], head: HeadRoles) -> None:
    groups = {
        label: [one for one in changes if one.after.attention == attention]
        for attention, label in ATTENTION_LABELS.items()
    }
    chosen = next(one for one in changes if one.after == head)
    figure = head_scatter(
        {
            name: [(one.looks, one.writes, str(place_of(one.after))) for one in own]
            for name, own in groups.items()
        },
        theme=current_theme(),
        x="where it looks: share of attention moved",
        y="what it writes: relative change",
        chosen=(chosen.looks, chosen.writes),
    )
    pick_point(
        figure,
        [[one.after for one in own] for own in groups.values()],
        choose_head,
        key="heads_change_scatter",
        name="head-changes",
        caption="One point per head of the later checkpoint. At the lower left nothing changed.",
    )


def _table(changes: Sequence[HeadChange]) -> None:
    numbers = {
        name: st.column_config.NumberColumn(format="%.3f", help=about)
        for name, about in (
            ("looks", "Share of its attention that moved: mean total variation between rows, 0 to 1."),
            ("writes", "Relative change of what it writes, 0 to 1; 0 if that isn't known."),
            ("role change", "Largest difference of any role's score."),
        )
    }
    pick_row(
        pd.DataFrame([_row(one) for one in changes]),
        [one.after for one in changes],
        choose_head,
        key="heads_changes",
        columns={"head": st.column_config.TextColumn(pinned=True), **numbers},
    )
    st.caption("What changed most is first. Click a row to see the head below.")


def _row(change: HeadChange) -> dict[str, object]:
    roles = [DEFINITIONS[head.role].label if head.role else "none" for head in (change.before, change.after)]
    return {
        "head": str(place_of(change.after)),
        "was": str(place_of(change.before)),
        "looks": change.looks,
        "writes": change.writes,
        "role change": change.role,
        "role before": roles[0],
        "role now": roles[1],
    }
