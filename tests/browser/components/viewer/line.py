"""The way between a page and its server."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, WebSocketRoute


class Line:
    """The way between a page and its server, on which either side's messages can be held back."""

    def __init__(self, page: Page) -> None:
        self.sent = 0
        self._holds = False
        self._held: list[Callable[[], None]] = []
        page.route_web_socket("**/_stcore/stream", self._open)

    def hold(self) -> None:
        """Let nothing through, from now on."""
        self._holds = True

    def release(self) -> None:
        """Let through what was held back, and everything from now on."""
        self._holds, held, self._held = False, self._held, []
        for go in held:
            go()

    def _open(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def up(message: str | bytes) -> None:
            self.sent += 1
            self._pass(lambda: server.send(message))

        socket.on_message(up)
        server.on_message(lambda message: self._pass(lambda: socket.send(message)))

    def _pass(self, go: Callable[[], None]) -> None:
        if self._holds:
            self._held.append(go)
        else:
            go()
