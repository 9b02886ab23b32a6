"""BertViz's views of an attention: written to a page and painted by Chromium.

BertViz's page loads three libraries from a public CDN. Here they come from npm's packages and are served from
this machine, so that no network time is measured.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import torch
from playwright.sync_api import Error, Page, Route
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from bench.browser.watch import memory
from bench.measurement import Bytes, Memory, Painted, Seconds
from bench.setting import Setting
from scripts.browser import ROOT

ViewName = Literal["model_view", "head_view"]
LIMIT_SECONDS = 120.0
SLOW_SECONDS = 10.0
"""A page that takes longer than this is opened once, and compared with each of our rounds."""
CACHE = ROOT / "bench" / "cache"
# Part of the URL that BertViz requests -> npm package, file in it. npm has jQuery 2.1.0, not 2.0.0.
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


@dataclass(frozen=True)
class BertvizView:
    """One attention in one view of BertViz.

    Attributes:
        view: "model_view" has every head, "head_view" the lines of one layer.
        opened: from the call in Python to the painted page; bytes of the page without the libraries.
        memory: of the tab at the end; None if it was never painted.
    """

    view: ViewName
    opened: Painted
    memory: Memory | None = None

    def __str__(self) -> str:
        return f"{self.view}: {self.opened}" + (f", {self.memory.tab}" if self.memory else "")


def bertviz_view(
    setting: Setting, view: ViewName, weights: torch.Tensor, tokens: list[str]
) -> Callable[[], BertvizView]:
    """Return a function that opens a view of weights (L, H, N, N) in a new browser.

    A slow view is opened once and its result is repeated. Without BertViz or npm, every result says so and
    ours is measured alone.
    """
    needed = {"BertViz": find_spec("bertviz"), "npm": shutil.which("npm")}
    missing = " and ".join(name for name, found in needed.items() if not found)
    last = BertvizView(view, Painted(None, Bytes(0), f"{missing} not installed")) if missing else None

    def measure() -> BertvizView:
        nonlocal last
        if last is None or (last.opened.seconds or SLOW_SECONDS) < SLOW_SECONDS:
            last = _open(setting, view, weights, tokens)
        return last

    return measure


def _open(setting: Setting, view: ViewName, weights: torch.Tensor, tokens: list[str]) -> BertvizView:
    import bertviz

    libraries = {part: library(*source) for part, source in LIBRARIES.items()}
    with tempfile.TemporaryDirectory() as folder, setting.browser() as browser:
        path = Path(folder) / f"{view}.html"
        started = time.perf_counter()
        draw = getattr(bertviz, view)
        made = draw(attention=list(weights.unsqueeze(1)), tokens=tokens, html_action="return")
        path.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{made.data}{WATCH}", encoding="utf-8")
        written = time.perf_counter() - started
        del made
        page = browser.new_page()
        shown, why = _paint(page, path, libraries)
        seconds = None if shown is None else Seconds(written + shown)
        opened = Painted(seconds, Bytes(path.stat().st_size), why)
        return BertvizView(view, opened, None if shown is None else memory(browser, page))


def _paint(page: Page, path: Path, libraries: dict[str, Path]) -> tuple[float | None, str]:
    """Open a file in a page; return the seconds until it is painted, or None and the reason."""

    def serve(route: Route) -> None:
        part = next(part for part in libraries if part in route.request.url)
        route.fulfill(path=libraries[part], content_type="text/javascript")

    page.route(lambda url: url.startswith("https:"), serve)
    try:
        page.goto(path.as_uri(), wait_until="commit", timeout=LIMIT_SECONDS * 1000)
        page.wait_for_function("window.painted", timeout=LIMIT_SECONDS * 1000)
        return page.evaluate("window.painted") / 1000, ""
    except PlaywrightTimeout:
        return None, f"not painted after {LIMIT_SECONDS:.0f} s"
    except Error as error:
        return None, "the page crashed" if "crash" in str(error).lower() else str(error).splitlines()[0]


def library(package: str, member: str) -> Path:
    """Return a file of an npm package, from the cache or downloaded now."""
    path = CACHE / package / Path(member).name
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "pack", "--silent", package]
    subprocess.run(npm, cwd=path.parent, check=True, stdout=subprocess.DEVNULL)
    archive = next(path.parent.glob("*.tgz"))
    with tarfile.open(archive) as packed:
        source = packed.extractfile(member)
        assert source is not None, f"{package} has no {member}"
        path.write_bytes(source.read())
    archive.unlink()
    return path
