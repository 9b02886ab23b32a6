"""A Streamlit server on a free port, and a Chromium to view it: for tests, benchmarks and screenshots."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright, ProxySettings

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
NO_WAY_OUT = ProxySettings(server="http://127.0.0.1:9", bypass="127.0.0.1")
"""Nothing listens there. Routing in Playwright would work too, but disables Chromium's cache."""
START_SECONDS = 180.0
"""The app loads PyTorch and the model before it answers, which is slow on a busy machine."""
IS_IDLE = """
([quiet, call]) => {
  const { testConnectionState: connection, testScriptState: script } =
    document.querySelector("[data-testid=stApp]")?.dataset ?? {};
  const isIdle = connection === "CONNECTED" && script === "notRunning" && !window.isAsking;
  const before = window.idle?.call === call ? window.idle.since : undefined;
  const since = isIdle ? (before ?? performance.now()) : undefined;
  window.idle = { call, since };
  return isIdle && performance.now() - since >= quiet;
}
"""

WATCH_REQUESTS = f"(() => {{\n{(ROOT / 'scripts' / 'watch_requests.js').read_text()}}})();"
"""Sets `window.isAsking` while a requested run has not begun: Streamlit calls such a page idle."""


def launch_chromium(playwright: Playwright, path: str) -> Browser:
    """Start a headless Chromium that can reach only this machine."""
    return playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS), proxy=NO_WAY_OUT)


@contextmanager
def streamlit_server(script: Path, **settings: str) -> Iterator[str]:
    """Run a Streamlit script as `server_process` does; yield its URL."""
    with server_process(script, workers=0, **settings) as (url, _):
        yield url


@contextmanager
def server_process(script: Path, *, workers: int = 0, **settings: str) -> Iterator[tuple[str, int]]:
    """Run a Streamlit script on a free local port until the block ends; yield its URL and process id.

    Args:
        script: the script; the app is started as `make run` does.
        workers: processes of the app with a proxy in front, as in `make serve`; 0 for one alone.
        settings: Streamlit's environment variables without their prefix, such as `RUNNER_FAST_RERUNS`.

    Raises:
        RuntimeError: the server did not start in time; the message includes its output.
    """
    port = free_port()
    start = ["headlight"] if script == ROOT / "app.py" else ["streamlit", "run", str(script)]
    where = ["--server.headless", "true", "--server.port", str(port)]
    if workers:
        start, where = ["headlight", "serve"], ["--workers", str(workers), "--port", str(port)]
    command = [sys.executable, "-m", *start, *where]
    environment = {"OMP_WAIT_POLICY": "PASSIVE"} | os.environ  # as `make run`
    environment |= {f"STREAMLIT_{name}": value for name, value in settings.items()}
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            if not comes_up(server, f"{url}/_stcore/health"):
                log.seek(0)
                raise RuntimeError(f"{script.name} did not come up in {START_SECONDS:.0f} s:\n{log.read()}")
            yield url, server.pid
        finally:
            stop(server)


def stop(server: subprocess.Popen[bytes]) -> None:
    """Ask a server to end; kill it if it is still running after START_SECONDS."""
    server.terminate()
    try:
        server.wait(timeout=START_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def comes_up(server: subprocess.Popen[bytes], address: str) -> bool:
    """Wait until a server answers at this URL; False if it exits or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.1)
    return False


def free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_idle(page: Page, timeout: float = 120_000, *, quiet: float = 0) -> None:
    """Wait until the page is connected and its script has run to the end.

    Args:
        page: shows the app. If its context runs the script `WATCH_REQUESTS`, this also waits for a requested
            run that has not begun.
        timeout: ms.
        quiet: ms that the page must stay idle: it is briefly idle between a run and a rerun that it requests.
    """
    page.wait_for_function(IS_IDLE, arg=[quiet, time.monotonic()], timeout=timeout)
