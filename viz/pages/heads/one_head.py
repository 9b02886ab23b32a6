"""One head: its scores in all roles, and its strongest sentences, each of which opens on Explore."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES
from transformer.analysis.roles.definitions import DEFINITIONS, Role
from transformer.analysis.roles.report import Example, HeadReport, HeadRoles, RoleScore
from viz.figures.labels import visible, visible_in_full
from viz.figures.numbers import number
from viz.pages.heads.session import ROLE, fits_chosen_model, roles_with_examples
from viz.pages.shared.attention_view import keep
from viz.pages.shared.literal_text import escaped
from viz.session import current_model
from viz.text_session import boxes_of, use_sentence
from viz.viewer.choice import Choice
from viz.widgets import pick, set_choice

EXPLORE = "viz/pages/explore/page.py"


def draw_head(report: HeadReport, head: HeadRoles) -> None:
    """Draw one head."""
    st.subheader(f"{ATTENTION_LABELS[head.attention]}, layer {head.layer}, head {head.head}")
    labels = [DEFINITIONS[role].label for role in head.learned]
    st.markdown(f"Learned: **{', '.join(labels)}**." if labels else "It has learned **no role**.")
    st.dataframe(_scores(head), key="heads_scores", hide_index=True)
    roles = roles_with_examples(head)
    if not roles:
        st.caption("No sentence shows any of the roles.")
        return
    if st.session_state.get(ROLE, roles[0]) not in roles:
        set_choice(ROLE, roles[0])  # said explicitly, or the browser would still show the other head's
    role = pick(
        st.selectbox,
        "Strongest sentences for",
        roles,
        key=ROLE,
        format_func=lambda role: DEFINITIONS[role].label,
    )
    fits = fits_chosen_model(report)
    name = escaped(visible(report.model, 60))
    if not fits:
        st.caption(f"To open these sentences, choose the model {name} in the sidebar.")
    elif report.model != current_model().name:
        st.caption(f"This result is of {name}; its sentences open in the model chosen in the sidebar.")
    rows = _rows(head, role)
    if fits and rows == "read":
        st.caption(
            "A row is named by the token that the decoder *reads* there: from it the head looks while the "
            "next token is chosen. Explore opens at this row, under this name."
        )
    for place, example in enumerate(head.scores[role].examples):
        _example(report, head, example, rows, place, opens=fits)


def _scores(head: HeadRoles) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "role": DEFINITIONS[role].label + _detail(role, score),
                "learned": "yes" if role in head.learned else "no",
                "score": number(score.score, 2),
                "interval": f"{number(score.low, 2)} to {number(score.high, 2)}",
                "beyond position": number(score.beyond, 2) if DEFINITIONS[role].goes_beyond else "",
                "random": number(score.twin, 2),
                "sentences": f"{score.n:,}",
            }
            for role, score in head.scores.items()
        ]
    )


def _detail(role: Role, score: RoleScore) -> str:
    if role == "offset":
        return f" ({number(score.detail, 0)})"
    if role == "alignment":
        return " (where the word is read)" if score.detail else " (where the word is written)"
    return ""


def _rows(head: HeadRoles, role: Role) -> str:
    """What names a row in the examples, as in `Choice`: in a decoder the token read, or the one it aligns."""
    is_encoder = MODULES[head.attention][0] == "encoder"
    writes = role == "alignment" and not head.scores[role].detail
    return "written" if is_encoder or writes else "read"


def _example(
    report: HeadReport, head: HeadRoles, example: Example, rows: str, place: int, *, opens: bool
) -> None:
    source, target = report.texts[example.text]
    choice = Choice(head.attention, head.layer, head.head, cell=(example.query, example.key), rows=rows)

    def prepare() -> None:
        use_sentence(boxes_of(current_model()), source, target)
        keep(choice)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(
            f"{number(example.score, 2)}  {visible(example.query_token)} → {visible(example.key_token)}\n"
            + visible_in_full(source)
            + (f"\n{visible_in_full(target)}" if target else ""),
            width="stretch",
        )
        if opens and st.button("Open on Explore", key=f"heads_open_{place}", on_click=prepare):
            st.switch_page(EXPLORE, query_params={})
