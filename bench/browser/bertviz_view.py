"""The same heads in BertViz: its views, written to a page and painted by Chromium.

BertViz's page loads three libraries from a public CDN. They are taken from npm's packages instead and served
from this machine, so the figures hold no network time.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from bertviz import head_view, model_view
from playwright.sync_api import Browser, Error, Page, Route
from playwright.sync_api import TimeoutError as GivenUp

from bench.browser.watch import memory
from bench.measurement import BertvizView, Painted, ViewName
from scripts.browser import ROOT

CACHE = ROOT / "bench" / "cache"
# Part of the address that BertViz asks for -> npm package, file in it. npm lacks jquery 2.0.0: the next one.
LIBRARIES = {
    "/d3/": ("d3@5.7.0", "package/dist/d3.min.js"),
    "/jquery/": ("jquery@2.1.0", "package/dist/jquery.min.js"),
    "/require.js/": ("requirejs@2.3.6", "package/require.js"),
}
# RequireJS runs this after BertViz's own callback, which draws everything; a frame later it is painted.
WATCH = """
<script>
requirejs(["jquery", "d3"], () => {
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
});
</script>
"""


VIEWS: dict[ViewName, Callable[..., Any]] = {"model_view": model_view, "head_view": head_view}


def measure_bertviz(
    browser: Browser, view: ViewName, weights: torch.Tensor, tokens: list[str], limit: float
) -> BertvizView:
    """Measure from weights in memory to the painted page.

    Args:
        view: which of them.
        weights: (L, H, N, N), the attention of N tokens.
        tokens: N words.
        limit: seconds after which the page is given up.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{view}.html"
        started = time.perf_counter()
        made = VIEWS[view](attention=list(weights.unsqueeze(1)), tokens=tokens, html_action="return")
        path.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{made.data}{WATCH}", encoding="utf-8")
        written = time.perf_counter() - started
        del made
        page = browser.new_page()
        shown, why = paint(page, path, limit)
        opened = Painted(len(tokens), None if shown is None else written + shown, path.stat().st_size, why)
        held = None if shown is None else memory(browser, page)
    return BertvizView(view, weights.shape[0], weights.shape[1], opened, held)


def paint(page: Page, path: Path, limit: float) -> tuple[float | None, str]:
    """Open a file in a page; return the seconds until it is painted, or None and the reason."""
    libraries = {part: library(*source) for part, source in LIBRARIES.items()}

    def serve(route: Route) -> None:
        part = next(part for part in libraries if part in route.request.url)
        route.fulfill(path=libraries[part], content_type="text/javascript")

    page.route(lambda url: url.startswith("https:"), serve)
    try:
        page.goto(path.as_uri(), wait_until="commit", timeout=limit * 1000)
        page.wait_for_function("window.painted", timeout=limit * 1000)
        return page.evaluate("window.painted") / 1000, ""
    except GivenUp:
        return None, f"not painted after {limit:.0f} s"
    except Error as error:
        return None, "the page crashed" if "crash" in str(error).lower() else str(error).splitlines()[0]


def library(package: str, member: str) -> Path:
    """Return a file of an npm package, from the cache or fetched now.

    Raises:
        RuntimeError: there is no npm to fetch it with.
    """
    path = CACHE / package / Path(member).name
    if path.exists():
        return path
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("BertViz needs d3, jQuery and RequireJS, which are fetched with npm: install npm.")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([npm, "pack", "--silent", package], cwd=path.parent, check=True, stdout=subprocess.DEVNULL)
    archive = next(path.parent.glob("*.tgz"))
    with tarfile.open(archive) as packed:
        source = packed.extractfile(member)
        assert source is not None, f"{package} has no {member}"
        path.write_bytes(source.read())
    archive.unlink()
    return path
