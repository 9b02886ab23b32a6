"""The roles of all heads, as points and as a table; and one head with its strongest sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS
from transformer.analysis.roles.definitions import DEFINITIONS, ROLES, Role
from transformer.analysis.roles.report import HeadReport, HeadRoles
from transformer.analysis.roles.scoring import scores
from transformer.analysis.roles.verdicts import learned_roles
from viz.figures.export import file_name
from viz.figures.labels import visible, visible_in_full
from viz.figures.numbers import number
from viz.pages.heads.one_head import draw_head
from viz.pages.heads.session import COMMAND, FORMAT, choose_head, chosen_head, place_of
from viz.pages.shared.clickable import pick_point, pick_row
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.saved_file import save_button
from viz.run_figures.roles import NONE, heads_by_attention, label_of, roles_figure
from viz.session import current_theme
from viz.widgets import pick

FEW_SENTENCES = 200
"""Fewer sentences than this give wide intervals."""
ALL = "all"
"""The choice of no role: the heads of every role, and those without one."""


@st.fragment
def roles_section(report: HeadReport) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("What does each head do?")
    _summary(report)
    rows = ordered(report)
    head = chosen_head(report, rows[0])
    _points(report, head)
    computed_by(scores)
    _table(report, rows)
    computed_by(learned_roles)
    draw_head(report, head)
    _definitions(report)


def ordered(report: HeadReport) -> list[HeadRoles]:
    """The heads as in the table: those with a role first, the highest score first."""
    return sorted(report.heads, key=lambda one: -one.scores[one.role].score if one.role else 1.0)


def _summary(report: HeadReport) -> None:
    counts = Counter(label_of(one.role) for one in report.heads)
    n_none = counts.pop(NONE, 0)
    listed = ", ".join(f"{count} × {name}" for name, count in counts.most_common()) or "none has any"
    twins = "a model" if report.n_twins == 1 else f"{report.n_twins} models"
    left_out = f" ({report.n_left_out:,} more don't fit the model)" if report.n_left_out else ""
    st.markdown(
        f"**{escaped(visible(report.model, 60))}**, {len(report.heads)} heads over {report.n_sentences:,} "
        f"sentences{left_out}, next to {twins} with random weights. Main roles: {listed}. "
        f"**{n_none} of {len(report.heads)} heads have no role.**"
    )
    if report.n_sentences < FEW_SENTENCES:
        st.caption(
            f"{report.n_sentences} sentences show roughly what there is, with wide intervals. For numbers to "
            f"rely on, run {COMMAND} on a thousand sentences and open its result here. {FORMAT}"
        )


def _points(report: HeadReport, head: HeadRoles) -> None:
    measured = [role for role in ROLES if any(role in one.scores for one in report.heads)]
    x, y = first_axes(measured)
    left, right = st.columns(2)
    x = pick(left.selectbox, "Across", measured, key="heads_x", index=measured.index(x), format_func=label_of)
    y = pick(right.selectbox, "Up", measured, key="heads_y", index=measured.index(y), format_func=label_of)
    groups = heads_by_attention(report, x, y)
    if not any(groups.values()):
        st.info(
            f"No attention is measured in both: {label_of(x)} and {label_of(y)}. Choose two roles "
            "of one kind of attention."
        )
        return
    pick_point(
        roles_figure(report, x, y, theme=current_theme(), chosen=head),
        list(groups.values()),
        choose_head,
        key="heads_scatter",
        name="head-roles",
        caption="One point per head, 1 is most. Heads whose attention can't have one of the two roles are "
        "left out. Click a point to see the head below.",
    )


def first_axes(measured: Sequence[Role]) -> tuple[Role, Role]:
    """Two roles in which the heads of every attention are measured, if there are such."""
    common: tuple[Role, ...] = ("special", "offset", "position")
    x, *others = dict.fromkeys([*(role for role in common if role in measured), *measured])
    return x, others[0] if others else x


def _table(report: HeadReport, rows: Sequence[HeadRoles]) -> None:
    by_role = heads_by_role(rows)
    shown = pick(st.selectbox, "Heads that have learned", list(by_role), key="heads_with")
    rows = by_role[shown]
    numbers = {
        name: st.column_config.NumberColumn(format="%.2f", width=75 if name == "random" else 55, help=about)
        for name, about in (
            ("score", "From 0 to 1; what it is depends on the role, see the definitions."),
            ("from", "Lower end of the interval over sentences (95 %)."),
            ("to", "Upper end."),
            ("random", "The same head of a model with random weights."),
        )
    }
    columns = {
        "head": st.column_config.TextColumn(
            pinned=True, width=100, help="Attention, layer and head, from 0."
        ),
        "role": st.column_config.TextColumn(width=120, help="Its main learned role."),
        **numbers,
        "also": st.column_config.TextColumn(width=125, help="Other roles that it has learned."),
        "looks": st.column_config.TextColumn(width=165),
        "strongest sentence": st.column_config.TextColumn(width=250),
    }
    # a table of its own per choice: the cell selected in one would be that of another head in the next
    pick_row(
        roles_table(report, rows),
        rows,
        choose_head,
        key=f"heads_table_{shown}",
        columns=columns,
        wraps=True,
    )
    with st.container(horizontal=True):
        st.caption(
            "Click a column's name to sort, a row to see the head below. “none” is an answer: no role "
            "exceeds what random weights and position give.",
            width="stretch",
        )
        save_button(
            "CSV",
            partial(_csv, report),
            file_name=file_name("heads", "csv"),
            mime="text/csv",
            key="heads_csv",
            about="All scores of all heads, with intervals.",
        )


def heads_by_role(rows: Sequence[HeadRoles]) -> dict[str, list[HeadRoles]]:
    """All heads, those of every role that any has learned, and those without a role, in the given order."""
    roles: dict[str, Role | None] = {label_of(role): role for role in ROLES}
    groups = {name: [one for one in rows if role in one.learned] for name, role in roles.items()}
    groups[NONE] = [one for one in rows if not one.learned]
    return {ALL: list(rows)} | {name: own for name, own in groups.items() if own}


def roles_table(report: HeadReport, rows: Sequence[HeadRoles]) -> pd.DataFrame:
    """The table of the heads: one row per head."""
    return pd.DataFrame([_row(report, one) for one in rows])


def _row(report: HeadReport, head: HeadRoles) -> dict[str, object]:
    score = head.scores[head.role] if head.role else None
    best = score.examples[0] if score and score.examples else None
    return {
        "head": str(place_of(head)),
        "role": label_of(head.role),
        "score": score.score if score else np.nan,
        "from": score.low if score else np.nan,
        "to": score.high if score else np.nan,
        "random": score.twin if score else np.nan,
        "also": ", ".join(map(label_of, head.learned[1:])),
        "looks": f"{visible(best.query_token)} → {visible(best.key_token)}" if best else "",
        "strongest sentence": visible_in_full(report.texts[best.text][0]) if best else "",
    }


def _csv(report: HeadReport) -> bytes:
    """Every score of every head; texts of the file can't be read as formulas: there are none."""
    rows = [
        {
            "attention": one.attention,
            "layer": one.layer,
            "head": one.head,
            "role": role,
            "learned": role in one.learned,
            "is_main": role == one.role,
            "score": score.score,
            "low": score.low,
            "high": score.high,
            "beyond_position": score.beyond,
            "random": score.twin,
            "detail": score.detail,
            "sentences": score.n,
        }
        for one in report.heads
        for role, score in one.scores.items()
    ]
    return pd.DataFrame(rows).to_csv(index=False).encode()


def _definitions(report: HeadReport) -> None:
    with st.expander("What the roles are, and when a head has one"):
        prose(
            "A head has learned a role if its score is clearly above what heads with random weights reach, "
            "at the lower end of its interval over sentences too. For special tokens, duplicates, induction "
            "and alignment, what the mean weight at each distance already explains is subtracted first: a "
            "role that a fixed offset explains equally well isn't learned. The main role is the one "
            "furthest above chance."
        )
        for role in ROLES:
            definition, why = DEFINITIONS[role], report.not_measured.get(role)
            st.markdown(f"**{definition.label}**: {definition.measures}. *{definition.source}*")
            if why:
                st.text(f"Not measured: {visible_in_full(why)}.")
        random = {
            f"{ATTENTION_LABELS[attention]}: {label_of(role)}": number(most, 2)
            for attention, own in report.chances.items()
            for role, most in own.items()
        }
        st.caption(
            "Exceeded by a learned role: " + "; ".join(f"{name} {most}" for name, most in random.items())
        )
