"""The doctor's findings, each with its evidence, meaning and advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.parts import Part

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note", "ok")
"""Severities, the worst first. A note describes a healthy model, or says why a check could not run."""

_NAMED_PLACES = 4


@dataclass(frozen=True)
class Finding:
    """One result of a check, which may have several.

    Names of tensors and tokens in the texts are the checkpoint's, unescaped: data, not Markdown.

    Attributes:
        check: name of a check in CHECKS, or NOT_MADE; filled in by `examine`.
        severity: how bad it is.
        title: what was found, in a few words.
        number: the measured value and what it is compared with; empty if there is none.
        meaning: its effect on the model.
        advice: what to do; empty for "ok".
        where: the tensors, layers and heads; empty for the whole model.
    """

    check: str = field(default="", kw_only=True)
    severity: Severity
    title: str
    number: str = ""
    meaning: str = ""
    advice: str = ""
    where: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """The result of an examination.

    Attributes:
        findings: findings in the order of the checks; each check made has at least one.
        checks: names of all checks made, including those that found nothing wrong.
        parts: parts of the model with their numbers of parameters; empty if no model could be built.
        answers: measured answers to open questions; None if there are none, or the model could not run.
    """

    findings: tuple[Finding, ...]
    checks: tuple[str, ...]
    parts: tuple[Part, ...]
    answers: Weighing | None = None

    def of(self, *severities: Severity) -> tuple[Finding, ...]:
        """The findings of these severities, the worst first."""
        found = [finding for finding in self.findings if finding.severity in severities]
        return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))

    @property
    def clean(self) -> bool:
        """True if there are no problems or warnings."""
        return not self.of("problem", "warning")


def fine(title: str, number: str = "") -> list[Finding]:
    """The finding of a check that found nothing wrong."""
    return [Finding("ok", title, number)]


def places(names: Iterable[str]) -> str:
    """A list of places in words: the first few by name, then the number of others."""
    listed = list(names)
    shown = ", ".join(listed[:_NAMED_PLACES])
    more = len(listed) - _NAMED_PLACES
    return f"{shown} and {more:,} more" if more > 0 else shown


def head_places(heads: Sequence[tuple[str, int]]) -> str:
    """Heads (attention path, index) in words; heads count from 0."""
    by_path: dict[str, list[str]] = {}
    for path, head in heads:
        by_path.setdefault(path, []).append(str(head))
    return places(
        f"{path} {'head' if len(numbers) == 1 else 'heads'} {', '.join(numbers)}"
        for path, numbers in by_path.items()
    )


def rounded(number: float, digits: int = 2) -> str:
    """A number rounded to significant digits, with true minus signs: 4.2e-7 -> "4.2e−07"."""
    return f"{number:.{digits}g}".replace("-", "−")


def share(part: float) -> str:
    """Format a share in percent: 0.034 -> "3.4 %"."""
    percent = 100 * part
    if 0 < percent < 0.1:
        return "below 0.1 %"
    if 99.9 < percent < 100:
        return "above 99.9 %"
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.1f} %"
