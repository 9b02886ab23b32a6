"""Rerun the tour of Headlight from Python (docs/figures.ipynb) and renew its pictures: `make tour`."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from io import BytesIO
from typing import Any

import nbformat
import plotly.io
from nbclient import NotebookClient
from PIL import Image

from scripts.browser import ROOT
from viz.figures.chromium import find_chromium

TARGET = ROOT / "docs" / "figures.ipynb"
FIGURE = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDTH, COLOURS = 880, 256


def main() -> None:
    """Run every cell, and keep its visible output: text, tables, and images in place of figures."""
    path = find_chromium()
    if path is None:
        sys.exit("No Chromium on PATH: install it (Debian and Ubuntu: apt-get install chromium).")
    os.environ.update(PLOTLY_RENDERER="plotly_mimetype", BROWSER_PATH=path, PYTHONPATH=str(ROOT))
    notebook = nbformat.read(TARGET, as_version=4)
    metadata = notebook.metadata.copy()
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(TARGET.parent)}}).execute()
    notebook.metadata = metadata  # drops the widget's state, larger than everything else together
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop(WIDGET, None)
            if FIGURE in data:
                output.data = {"image/png": _picture(data[FIGURE])}
    nbformat.write(notebook, TARGET)
    print(TARGET.relative_to(ROOT))


def _picture(figure: dict[str, Any]) -> str:
    """Draw a figure at page width as a PNG of at most COLOURS colours, in base64."""
    drawn = plotly.io.to_image(figure, "png", width=WIDTH, validate=False)
    written = BytesIO()
    Image.open(BytesIO(drawn)).convert("RGB").quantize(COLOURS).save(written, "PNG", optimize=True)
    return b64encode(written.getvalue()).decode()


if __name__ == "__main__":
    main()
