"""What heads do over many sentences, as a figure."""

from __future__ import annotations

import plotly.graph_objects as go

from transformer.analysis.attention_maps import ATTENTION_LABELS
from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.roles.definitions import DEFINITIONS, Role
from transformer.analysis.roles.report import HeadReport, HeadRoles
from viz.figures.head_roles import head_scatter
from viz.theme import Theme

NONE = "none"


def label_of(role: Role | None) -> str:
    """A role in words."""
    return DEFINITIONS[role].label if role else NONE


def heads_by_attention(report: HeadReport, x: Role, y: Role) -> dict[str, list[HeadRoles]]:
    """The heads that are measured in two roles, by the label of their attention."""
    return {
        label: [one for one in report.heads if one.attention == attention and {x, y} <= one.scores.keys()]
        for attention, label in ATTENTION_LABELS.items()
    }


def roles_figure(
    report: HeadReport, x: Role, y: Role, *, theme: Theme, chosen: HeadRoles | None = None
) -> go.Figure:
    """Draw the scores of all heads in two roles, with the chosen head circled."""
    groups = heads_by_attention(report, x, y)
    is_drawn = chosen is not None and any(chosen in own for own in groups.values())
    return head_scatter(
        {name: [(*_point(one, x, y), _in_words(one)) for one in own] for name, own in groups.items()},
        theme=theme,
        x=f"score: {label_of(x)}",
        y=f"score: {label_of(y)}",
        chosen=_point(chosen, x, y) if chosen is not None and is_drawn else None,
    )


def _point(head: HeadRoles, x: Role, y: Role) -> tuple[float, float]:
    return head.scores[x].score, head.scores[y].score


def _in_words(head: HeadRoles) -> str:
    place = HeadPlace(head.attention, head.layer, head.head)
    return f"{place}: {', '.join(map(label_of, head.learned)) or NONE}"
