"""The tour of the public API runs from the first cell to the last, and draws what it says."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import headlight

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "figures.ipynb"
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.mark.slow
def test_notebook_runs_and_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # also where Headlight is not installed
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    drawn_before = sum("image/png" in output.get("data", {}) for output in outputs(notebook))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    figures = [output for output in outputs(notebook) if PLOTLY in output.get("data", {})]
    assert len(figures) == drawn_before > 0
    assert "Mia sorella ha visto un gatto nero." in str(outputs(notebook))
    drawn = {name for cell in notebook.cells for name in re.findall(r"headlight\.(\w+)", cell.source)}
    assert {"open", "run", "run_batch", "inspect", "number_table"} <= drawn <= set(dir(headlight))


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]
