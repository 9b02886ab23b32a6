"""The doctor: every check with its number, what it means, and what to do."""

from __future__ import annotations

import json

import streamlit as st

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.doctor.examine import CHECKS, NOT_MADE, examine
from transformer.analysis.doctor.findings import SEVERITIES, Diagnosis
from transformer.checkpoints.importing.report import Imported
from transformer.checkpoints.places import shipped_models
from transformer.cli.inspect_json import to_plain
from transformer.errors import SentenceError
from viz.address import as_typed
from viz.pages.checkpoint.session import (
    TEXT,
    keep_diagnosis,
    kept_answers,
    kept_diagnosis,
    shipped_diagnosis,
)
from viz.pages.shared.explain import computed_by
from viz.pages.shared.findings import show_findings
from viz.pages.shared.literal_text import refused
from viz.pages.shared.saved_file import save_button

SMALL = 1_000_000_000
"""Up to this many bytes of weights, a model is examined without asking."""


def doctor(name: str, imported: Imported) -> None:
    """Examine a checkpoint and draw the findings; `name` is its name in choices."""
    typed = st.text_area(
        "Sentences for the examination, one per line",
        key=TEXT,
        persist_state="session",
        placeholder="Left empty, the doctor uses a few of its own",
        help="Some checks run the model: where heads look, whether words are known. Type the kind of text "
        "that your model was made for.",
    )
    text = as_typed(typed)
    answers = kept_answers(name, text)
    diagnosis = kept_diagnosis(name, text, answers)
    if diagnosis is None:
        is_large = imported.raw.n_bytes > SMALL
        if is_large and not st.button("Examine it"):
            st.caption("This model has more than 1 GB of weights, so it is only examined on request.")
            return
        try:
            diagnosis = _examine(name, imported, text, answers)
        except SentenceError as error:
            refused("The doctor can't use this text.", error)
            return
        keep_diagnosis(name, text, diagnosis)
    _summary(diagnosis)
    show_findings(diagnosis.of(*SEVERITIES), key="findings")
    computed_by(examine)
    save_button(
        "Save everything as JSON",
        lambda: json.dumps(to_plain(imported, diagnosis), indent=2, ensure_ascii=False).encode(),
        file_name="checkpoint.json",
        mime="application/json",
        key="save_report",
    )


def _examine(name: str, imported: Imported, text: str, answers: Weighing | None) -> Diagnosis:
    if name in shipped_models() and not text.strip() and answers is None:
        with st.spinner("Examining the model …"):
            return shipped_diagnosis(name)
    bar = st.progress(0.0, text="Examining the model …")
    try:
        return examine(
            imported,
            text,
            lambda step: bar.progress(step.done / step.total, text=step.asks),
            answers=answers,
        )
    finally:
        bar.empty()


def _summary(diagnosis: Diagnosis) -> None:
    counts = {"problem": len(diagnosis.of("problem")), "warning": len(diagnosis.of("warning"))}
    checks = f"{len(diagnosis.checks)} of {len(CHECKS)} checks were made.{_not_made(diagnosis)}"
    if diagnosis.clean:
        st.success(f"A clean bill of health: no problem and no warning. {checks}")
    else:
        found = [f"{count} {word}{'s' if count > 1 else ''}" for word, count in counts.items() if count]
        st.warning(f"{' and '.join(found)} found. {checks}")


def _not_made(diagnosis: Diagnosis) -> str:
    """Name the skipped checks with the reason, except those listed in a note."""
    noted = " ".join(finding.meaning for finding in diagnosis.findings if finding.check == NOT_MADE)
    unmade = [check for check in CHECKS if check.name not in diagnosis.checks]
    named = [f"{check.name} ({check.unfit})" for check in unmade if check.asks not in noted]
    if noted:
        named.append("those in the notes below" if named else "see the notes below")
    return f" Skipped: {'; '.join(named)}." if named else ""
