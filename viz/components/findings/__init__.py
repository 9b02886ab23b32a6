"""The model doctor's findings as a list, worst first, filtered in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from viz.components.shared.client_view import ClientView
from viz.components.shared.frame import color_data, pack_frame
from viz.theme import Theme

Severity = Literal["problem", "warning", "note", "ok"]


@dataclass(frozen=True)
class ListedFinding:
    """One finding; all text is plain, with invisible characters already made visible.

    Attributes:
        severity: how bad it is.
        title: the finding.
        number: the number that shows it.
        meaning: its effect on the model.
        advice: what to do.
        where: tensors, layers and heads.
    """

    severity: Severity
    title: str
    number: str = ""
    meaning: str = ""
    advice: str = ""
    where: str = ""


_VIEW = ClientView("findings")


def findings_list(findings: Sequence[ListedFinding], *, colors: Theme, key: str) -> None:
    """Draw findings, worst first, with a filter button per severity; the browser sends nothing back."""
    data = {"colors": color_data(colors), "findings": list(map(vars, findings))}
    _VIEW.show(pack_frame(data, {}), key=key)
