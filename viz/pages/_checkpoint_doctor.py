"""The doctor: every check with its number, what it means, and what to do."""

from __future__ import annotations

import json
from typing import Literal

import pandas as pd
import streamlit as st

from transformer.analysis.examine import CHECKS, examination
from transformer.analysis.findings import SEVERITIES, Diagnosis, Finding, Severity
from transformer.checkpoints.importing.report import Imported
from transformer.cli.inspect_json import to_plain
from viz.figures.labels import visible
from viz.opened_models import shelf
from viz.pages._refusal import literal

SMALL = 1_000_000_000
"""Bytes of weights up to which they are looked at unasked."""
_LONGEST = 300
LABELS: dict[Severity, str] = {"problem": "Problems", "warning": "Warnings", "note": "Notes", "ok": "Healthy"}
ICONS: dict[Severity, str] = {
    "problem": ":material/error:",
    "warning": ":material/warning:",
    "note": ":material/info:",
    "ok": ":material/check_circle:",
}

COLORS: dict[Severity, Literal["red", "orange", "blue", "green"]] = {
    "problem": "red",
    "warning": "orange",
    "note": "blue",
    "ok": "green",
}


def doctor(imported: Imported) -> None:
    """Examine the checkpoint and draw what was found."""
    text = st.text_area(
        "Sentences to look with, one a line",
        key="checkpoint_text",
        placeholder="Left empty, the doctor takes a few of its own",
        help="Some checks run the model: where heads look, whether words are known. Give it what your model "
        "is made for.",
    )
    if imported.raw.n_bytes > SMALL and not st.button("Look at the numbers", type="primary"):
        st.caption("This model has more than 1 GB of weights: it is examined when you ask for it.")
        return
    diagnosis = _diagnosis(imported, text)
    _summary(diagnosis)
    shown = st.pills(
        "Show",
        [severity for severity in SEVERITIES if diagnosis.of(severity)],
        selection_mode="multi",
        default=[severity for severity in SEVERITIES if diagnosis.of(severity)],
        format_func=lambda severity: f"{LABELS[severity]} ({len(diagnosis.of(severity))})",
        label_visibility="collapsed",
    )
    for finding in diagnosis.of(*(severity for severity in shown if severity != "ok")):
        _finding(finding)
    if "ok" in shown:
        _healthy(diagnosis)
    st.download_button(
        "Save everything as JSON",
        data=json.dumps(to_plain(imported, diagnosis), indent=2, ensure_ascii=False),
        file_name="checkpoint.json",
        mime="application/json",
        on_click="ignore",
    )


def _diagnosis(imported: Imported, text: str) -> Diagnosis:
    """What the doctor says, from before or now; that of an opened checkpoint goes with it."""
    opened = shelf().opened
    if opened is not None and opened.imported is imported:
        if text not in opened.diagnoses:
            opened.diagnoses[text] = _examine(imported, text)
        return opened.diagnoses[text]
    return _examine_shipped(imported.raw.path.name, imported, text)


@st.cache_resource(max_entries=16, show_spinner=False)
def _examine_shipped(name: str, _imported: Imported, text: str) -> Diagnosis:
    return _examine(_imported, text)


def _examine(imported: Imported, text: str) -> Diagnosis:
    bar = st.progress(0.0, text="The doctor looks at the model …")
    going_on = examination(imported, text)
    try:
        while True:
            step = next(going_on)
            bar.progress(step.done / step.total, text=step.asks)
    except StopIteration as end:
        diagnosis: Diagnosis = end.value
        return diagnosis
    finally:
        bar.empty()


def _summary(diagnosis: Diagnosis) -> None:
    problems, warnings = len(diagnosis.of("problem")), len(diagnosis.of("warning"))
    checks = f"{len(diagnosis.checks)} of {len(CHECKS)} checks fit this model and were made."
    if diagnosis.clean:
        st.success(f"A clean bill: no problem and no warning. {checks}", icon=ICONS["ok"])
    else:
        found = [
            f"{count} {word}{'s' if count > 1 else ''}"
            for count, word in ((problems, "problem"), (warnings, "warning"))
            if count
        ]
        st.warning(f"{' and '.join(found).capitalize()} found. {checks}", icon=ICONS["warning"])


def _healthy(diagnosis: Diagnosis) -> None:
    """What was looked at and is as it should be, in a table."""
    st.dataframe(
        pd.DataFrame(
            [
                {"healthy": visible(finding.title, _LONGEST), "number": visible(finding.number, _LONGEST)}
                for finding in diagnosis.of("ok")
            ]
        ),
        hide_index=True,
        height="content",
    )


def _finding(finding: Finding) -> None:
    """One finding; its words may hold names of the checkpoint, so they are no Markdown."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(
                finding.severity,
                icon=ICONS[finding.severity],
                color=COLORS[finding.severity],
            )
            with st.container(width="stretch"):
                literal(finding.title)
        for label, words in (
            ("Number", finding.number),
            ("Where", finding.where),
            ("Means", finding.meaning),
            ("What to do", finding.advice),
        ):
            if words:
                literal(f"{label}: {words}")
