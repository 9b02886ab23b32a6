"""The output of `inspect` as text."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

from transformer.analysis.architecture import drawing
from transformer.analysis.doctor.answers import WeighedQuestion
from transformer.analysis.doctor.asked import about, figure
from transformer.analysis.doctor.findings import Diagnosis, Finding
from transformer.analysis.doctor.keys import key_findings
from transformer.analysis.parts import parts_of, total
from transformer.checkpoints.importing.report import Imported, ImportReport, Question

NARROWEST, WIDEST = 60, 110
"""Lines are as long as the terminal is wide, within these limits."""
_LAST_COLUMN = 20
"""Least width of a table's last column where it is wrapped."""
_VALUE = 24
"""Lists with more characters than this are abridged in the table of settings."""


def to_text(imported: Imported, diagnosis: Diagnosis | None) -> str:
    """The report on a checkpoint; without a diagnosis it says how to get one."""
    report = imported.report
    blocks = [
        _head(imported),
        _block("Architecture", _architecture(report)),
        _block("Settings", _settings(report)),
        _block("Open questions", _questions(report, diagnosis)),
        _block("Notes", [line for note in report.notes for line in _wrapped(note, "  ")]),
        _block("Findings", _findings(imported, diagnosis)),
    ]
    return "\n\n".join(block for block in blocks if block)


def printable(text: str) -> str:
    """Replace control and formatting characters, which a terminal would interpret, by their codes."""
    return "".join(
        character if character.isprintable() else f"<U+{ord(character):04X}>" for character in text
    )


def short_number(n: int) -> str:
    """Format a number with three digits: 74,376,192 -> "74.4 M"."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return str(n)


def _head(imported: Imported) -> str:
    raw, report = imported.raw, imported.report
    facts = [
        report.family_label,
        report.config.kind,
        raw.format,
        f"{len(raw.files):,} {'file' if len(raw.files) == 1 else 'files'}",
        f"{short_number(raw.n_bytes)}B",
        f"{len(raw.tensors):,} tensors",
        f"{total(parts_of(report.config)):,} parameters",
    ]
    return "\n".join([printable(str(raw.path)), *_wrapped(" · ".join(facts), "  ")])


def _architecture(report: ImportReport) -> list[str]:
    branches = drawing(report.config, parts_of(report.config))
    names = [branch.lines + branch.name for branch in branches]
    width = max(map(len, names))
    sizes = [f"{branch.n_parameters:,}" for branch in branches]
    size_width = max(map(len, sizes))
    return [
        line
        for name, size, branch in zip(names, sizes, branches, strict=True)
        for line in _wrapped(
            f"{name.ljust(width)}  {size.rjust(size_width)}  {branch.detail}",
            "  ",
            following="  " + branch.below.ljust(width + size_width + 4),
        )
    ]


def _settings(report: ImportReport) -> list[str]:
    return _columns(
        (setting.name, _abridged(setting.value), setting.source, setting.why) for setting in report.settings
    )


def _abridged(value: object) -> str:
    """A value as text; of a long tuple the first value and the length."""
    text = str(value)
    if not isinstance(value, tuple) or len(text) <= _VALUE:
        return text
    return f"({value[0]}, ... {len(value)} in all)"


def _questions(report: ImportReport, diagnosis: Diagnosis | None) -> list[str]:
    weighing = None if diagnosis is None else diagnosis.answers
    lines = [] if weighing is None else _wrapped(about(weighing), "  ")
    for asked in report.questions:
        lines += _question(asked, None if weighing is None else weighing.of(asked.name))
    return lines


def _question(question: Question, weighed: WeighedQuestion | None) -> list[str]:
    how = "as answered" if question.answered else f"assumed; for another: --answers {question.name}=..."
    lines = _wrapped(f"{question.name} = {question.value} ({how})", "  ")
    lines += _wrapped(f"{question.text} {question.why}", "    ")
    labels = {option.value: option.label for option in question.options}
    figures = {} if weighed is None else {one.value: figure(one, weighed) for one in weighed.weights}
    # The answer may be a number that was not among the options, and only some numbers of heads are tried.
    values = figures or dict.fromkeys([question.value, *labels], "")
    rows = [
        (str(value), *([number] if figures else []), "" if labels.get(value) == str(value) else label)
        for value, number in values.items()
        for label in [labels.get(value, "")]
    ]
    return lines + _columns(rows, indent="      ")


def _findings(imported: Imported, diagnosis: Diagnosis | None) -> list[str]:
    if diagnosis is None:
        found = key_findings(imported.report.keys, len(imported.raw.tensors))
        lines = [line for finding in found for line in _finding(finding)]
        return [
            *lines,
            *_wrapped("Only names, shapes and configuration were read: --check reads the weights.", "  "),
        ]
    lines = [line for finding in diagnosis.of("problem", "warning", "note") for line in _finding(finding)]
    if diagnosis.clean:
        lines.append("  A clean bill: no problem and no warning.")
    return lines + [line for finding in diagnosis.of("ok") for line in _finding(finding)]


def _finding(finding: Finding) -> list[str]:
    number = f" ({finding.number})" if finding.number else ""
    lines = _wrapped(f"{finding.severity:8} {finding.title}{number}", "  ", following=" " * 11)
    for text in (finding.where, finding.meaning, finding.advice):
        lines += _wrapped(text, " " * 11) if text else []
    return lines


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""


def _columns(rows: Iterable[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Format rows of cells in aligned columns, wrapping the last column."""
    cells = [tuple(map(printable, row)) for row in rows]
    if not cells:
        return []
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    lines = []
    for *first, last in cells:
        start = "  ".join(cell.ljust(width) for cell, width in zip(first, widths, strict=True))
        hanging = min(len(indent) + sum(widths) + 2 * len(widths), _width() - _LAST_COLUMN)
        lines += _wrapped(f"{start}  {last}", indent, following=" " * hanging)
    return lines


def _width() -> int:
    """Number of characters in a line: the terminal's width, within limits."""
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size((WIDEST, 0)).columns))


def _wrapped(text: str, indent: str, *, following: str | None = None) -> list[str]:
    """Wrap to printable lines; longer words stay whole. `following` begins all lines but the first."""
    return textwrap.wrap(
        printable(text),
        _width(),
        initial_indent=indent,
        subsequent_indent=indent if following is None else following,
        break_long_words=False,
        break_on_hyphens=False,
    )
