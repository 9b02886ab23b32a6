"""Watches every browser test for things that no page may do."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Dialog, Page, Request, WebSocket

LOCAL_HOST = "127.0.0.1"
# Opened at a page's own address, Streamlit looks for its server there before it tries the root.
STREAMLIT_PROBES = re.compile(r"/[^/]+/_stcore/(health|host-config)$")
LOCAL_SCHEMES = ("data", "blob", "about", "file")


class Guard:
    """Records every request and every sign of trouble, on a page and the pages that it opens.

    Requests that would leave this machine are reported; Chromium itself has no network access.
    """

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.troubles: list[str] = []
        self._watch(page)

    def check(self) -> None:
        """Fail the test if anything went wrong since the last check."""
        troubles, self.troubles = self.troubles, []
        assert not troubles, "\n".join(troubles)

    def _watch(self, page: Page) -> None:
        page.on("request", self._request)
        page.on("websocket", self._websocket)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"script error: {error}"))
        page.on("dialog", self._dialog)
        page.on("popup", self._watch)

    def _request(self, request: Request) -> None:
        self._record(request.url)

    def _websocket(self, websocket: WebSocket) -> None:
        self._record(websocket.url)

    def _record(self, url: str) -> None:
        self.requests.append(url)
        if not is_local(url):
            self.troubles.append(f"request that leaves this machine: {url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not STREAMLIT_PROBES.search(message.location["url"]):
            self.troubles.append(f"console error: {message.text} ({message.location['url']})")

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def is_local(url: str) -> bool:
    """True for an address on this machine."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname == LOCAL_HOST
