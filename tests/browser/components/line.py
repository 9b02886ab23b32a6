"""The connection between a page and its server, which a test can delay."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, WebSocketRoute
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from scripts.browser import WATCH_REQUESTS


class Line:
    """The connection between a page and its server: messages in either direction can be held back.

    Attributes:
        sent: number of messages from the page.
        ended: number of runs that the server has ended, whether or not the page knows.
    """

    def __init__(self, page: Page) -> None:
        self.sent = self.ended = 0
        self._holds = self._holds_answers = False
        self._held: list[tuple[Callable[[], None], str | None]] = []
        page.route_web_socket("**/_stcore/stream", self._open)
        # Again: the route has put a WebSocket of its own in place of the one that is watched already.
        page.add_init_script(WATCH_REQUESTS)

    def hold(self) -> None:
        """Hold back all messages from now on."""
        self._holds = True

    def hold_answers(self) -> None:
        """Hold back all messages to the page from now on."""
        self._holds_answers = True

    def has_sent(self, messages: int) -> bool:
        """True once the page has sent this many messages since it was opened."""
        return self.sent >= messages

    def has_ended(self, runs: int) -> bool:
        """True once the server has ended this many runs since the page was opened."""
        return self.ended >= runs

    def release(self) -> None:
        """Deliver what was held back, and stop holding back."""
        self._holds = self._holds_answers = False
        held, self._held = self._held, []
        for go, _ in held:
            go()

    def release_start(self) -> None:
        """Deliver what was held back, up to the start of the first run."""
        self._release_through("new_session")

    def release_run(self) -> None:
        """Deliver the messages of the first run that was held back, up to its end."""
        self._release_through("script_finished")

    def _release_through(self, kind: str) -> None:
        delivered = None
        while delivered != kind:
            go, delivered = self._held.pop(0)
            go()

    def _open(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def up(message: str | bytes) -> None:
            self.sent += 1
            self._pass(lambda: server.send(message), self._holds)

        def down(message: str | bytes) -> None:
            told = ForwardMsg.FromString(message) if isinstance(message, bytes) else ForwardMsg()
            kind = told.WhichOneof("type")
            self.ended += kind == "script_finished"
            self._pass(lambda: socket.send(message), self._holds or self._holds_answers, kind)

        socket.on_message(up)
        server.on_message(down)

    def _pass(self, go: Callable[[], None], is_held: bool, kind: str | None = None) -> None:
        if is_held:
            self._held.append((go, kind))
        else:
            go()
