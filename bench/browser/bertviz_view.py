"""The same grid of heads in BertViz: its model view, written to a page and painted by Chromium.

BertViz's page loads three libraries from a public CDN. They are taken from npm's packages instead and served
from this machine, so the figures hold no network time.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import torch
from bertviz import model_view
from playwright.sync_api import Browser, Error, Page, Route
from playwright.sync_api import TimeoutError as GivenUp

from bench.measurement import Painted
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


def measure_bertviz(browser: Browser, weights: torch.Tensor, tokens: list[str], limit: float) -> Painted:
    """Measure from weights in memory to the painted page.

    Args:
        weights: (L, H, N, N), the attention of N tokens.
        tokens: N words.
        limit: seconds after which the page is given up.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model_view.html"
        started = time.perf_counter()
        view = model_view(attention=list(weights.unsqueeze(1)), tokens=tokens, html_action="return")
        path.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{view.data}{WATCH}", encoding="utf-8")
        written = time.perf_counter() - started
        del view
        shown, why = paint(browser, path, limit)
        size = path.stat().st_size
    return Painted(len(tokens), None if shown is None else written + shown, size, why)


def paint(browser: Browser, path: Path, limit: float) -> tuple[float | None, str]:
    """Open a page; return the seconds until it is painted, or None and the reason."""
    libraries = {part: library(*source) for part, source in LIBRARIES.items()}

    def serve(route: Route) -> None:
        part = next(part for part in libraries if part in route.request.url)
        route.fulfill(path=libraries[part], content_type="text/javascript")

    page: Page = browser.new_page()
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
