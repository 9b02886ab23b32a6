"""Checks that a checkpoint's family is certain: related families share tensor names."""

from __future__ import annotations

from transformer.analysis.doctor.findings import Finding, fine
from transformer.checkpoints.importing.report import LAYOUT, ImportReport


def layout_findings(report: ImportReport) -> list[Finding]:
    """Check that the files or the user named the family; a guess among related ones gets a warning."""
    asked = next((question for question in report.questions if question.name == LAYOUT), None)
    if asked is None or asked.answered:
        told = "by its files" if asked is None else "as you answered"
        return fine("The kind of model is known", f"{report.family_label}, {told}")
    others = "; ".join(option.label for option in asked.options if option.value != asked.value)
    return [
        Finding(
            "warning",
            "The kind of model is a guess",
            f"taken for {report.family_label}",
            "Other kinds have tensors of the same names and shapes and compute something else with them. If "
            f"it is one of these, nearly every number is wrong: {others}.",
            f"Answer the question called {LAYOUT}, or open the model's whole folder: the model_type in its "
            "config.json tells.",
        )
    ]
