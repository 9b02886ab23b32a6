"""JupyterLab on a free port, with its own home folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path

import nbformat
from playwright.sync_api import Page, expect

from scripts.browser import ROOT, START_SECONDS, comes_up, free_port, stop

QUIET = {"fetchNews": "false", "checkForUpdates": False}
"""No news, no update checks, and no question about them."""
KNOWS_WIDGETS = """
() => {
  const { context } = window.jupyterapp?.shell.currentWidget ?? {};
  return Boolean(context?.sessionContext.session?.kernel?._targetRegistry["jupyter.widget"]);
}
"""
"""True once the notebook accepts widgets from its kernel; an earlier widget is lost silently."""


@contextmanager
def jupyter_lab(home: Path) -> Iterator[str]:
    """Run JupyterLab on the notebooks of a folder until the block ends; yield its address.

    Raises:
        RuntimeError: it did not start in time; the message contains its output.
    """
    settings = home / ".jupyter" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET), encoding="utf-8")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--IdentityProvider.token=",
    ]
    command += ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command += [f"--ServerApp.root_dir={home}", "--LabApp.extension_manager=readonly"]
    command += ["--LabApp.expose_app_in_browser=True"]  # for KNOWS_WIDGETS
    data = shared_data()
    environment = os.environ | {"HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment |= {"JUPYTER_PATH": str(data), "JUPYTERLAB_DIR": str(data / "lab")}
    environment["JUPYTER_CONFIG_PATH"] = str(data.parents[1] / "etc" / "jupyter")
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            if not comes_up(server, f"{url}/api/status"):
                log.seek(0)
                raise RuntimeError(f"JupyterLab did not come up in {START_SECONDS:.0f} s:\n{log.read()}")
            yield url
        finally:
            stop(server)


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook of code cells that have not been run."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def open_notebook(page: Page, url: str, name: str) -> None:
    """Open a notebook, and wait until its kernel has started."""
    page.goto(f"{url}/lab/tree/{name}?reset")
    # The toolbar shows the kernel as idle before it is.
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.wait_for_function(KNOWS_WIDGETS)


def run_all_cells(page: Page) -> None:
    """Run all cells from the notebook's menu."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def run_cell(page: Page, source: str) -> None:
    """Run the cell with this source again."""
    page.locator(".jp-CodeCell .jp-InputArea").filter(has_text=source).get_by_role("textbox").click()
    page.keyboard.press("Control+Enter")


def shared_data() -> Path:
    """The folder share/jupyter that contains anywidget."""
    manifest = Path("labextensions", "anywidget", "package.json")
    found = next(file for file in files("anywidget") or () if file.parts[-3:] == manifest.parts)
    return Path(found.locate()).resolve().parents[2]
