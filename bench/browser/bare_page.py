"""The viewer in its own page, standing in for a notebook with anywidget and its kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, Page

from bench.browser.watch import GRID, HEAD, Answer, seen, watched_page

QUIET_MILLISECONDS = 300
"""After this long without painting, the viewer has also reported the choice."""
SCRIPT = (files("headlight") / "browser" / "attention.js").read_bytes()
PAGE = """
<!DOCTYPE html><meta charset="utf-8"><body><div id="place"></div><script type="module">
  const load = async (path, options) => {
    const bytes = await (await fetch(path, options)).arrayBuffer();
    received.push([performance.now(), bytes.byteLength]);
    return new DataView(bytes);
  };
  const script = import("/attention.js");
  const listeners = {};
  const call = (event, ...details) => (listeners[event] ?? []).forEach((listener) => listener(...details));
  const state = { choice: CHOICE, frame: await load("/frame") };
  window.waiting = 0;
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; call(`change:${name}`); },
    save_changes: () => {},
    on: (event, listener) => (listeners[event] ??= []).push(listener),
    off: () => {},
    send: async (content) => {
      waiting++;
      call("msg:custom", {}, [await load("/pieces", { method: "POST", body: JSON.stringify(content) })]);
      waiting--;
    },
  };
  const { render } = await (await script).default();
  render({ model, el: document.getElementById("place") });
</script>
"""
IS_QUIET = """
(quiet) => waiting === 0 && performance.now() - Math.max(acted, ...paints.map(([, at]) => at)) > quiet
"""

Answering = Callable[[list[str]], bytes]
"""Packs the named pieces, as `update_frame` does."""


@contextmanager
def bare_page(
    browser: Browser, frame: bytes, choice: Mapping[str, Any], pieces: Answering
) -> Iterator[tuple[Page, Answer]]:
    """Open the viewer on a frame; yield the page, at rest, and what WATCH recorded since its start."""
    with served(frame, choice, pieces) as url:
        page = watched_page(browser)
        page.goto(url)
        page.evaluate("() => { acted = heard = 0; }")  # the time origin of the page
        opened = seen(page, (GRID, HEAD), lambda: rest(page))
        yield page, opened
        page.context.close()


def rest(page: Page) -> None:
    """Wait until no request is pending and nothing has been painted for a while."""
    page.wait_for_function(IS_QUIET, arg=QUIET_MILLISECONDS)


@contextmanager
def served(frame: bytes, choice: Mapping[str, Any], pieces: Answering) -> Iterator[str]:
    """Serve the page, the script, the frame and the pieces on this machine; yield the page's URL."""
    page = PAGE.replace("CHOICE", json.dumps(choice)).encode()
    texts = {"/": (page, "text/html"), "/attention.js": (SCRIPT, "text/javascript")}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps the connection open, like that to a kernel

        def do_GET(self) -> None:
            self._send(*texts.get(self.path, (frame, "application/octet-stream")))

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(pieces(asked["fetch"]), "application/octet-stream")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
