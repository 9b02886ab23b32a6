"""The doctor's findings as a list, for a checkpoint and for a model in the lab."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.analysis.doctor.findings import Finding
from viz.components.findings import ListedFinding, findings_list
from viz.figures.labels import visible
from viz.session import current_theme

_LONGEST = 2_000


def show_findings(findings: Sequence[Finding], *, key: str) -> None:
    """Draw the list; names from a checkpoint are shown literally."""
    findings_list([_listed(finding) for finding in findings], colors=current_theme(), key=key)


def _listed(finding: Finding) -> ListedFinding:
    texts = (finding.title, finding.number, finding.meaning, finding.advice, finding.where)
    return ListedFinding(finding.severity, *(visible(text, _LONGEST) if text else "" for text in texts))
