"""Visitors without a browser, any number at a time: Streamlit's own messages over a websocket."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

LIMIT_SECONDS = 60.0
"""A visitor gives up on a run that takes longer than this."""


class Visitor:
    """One session of the app on its start page; what the views would draw is received but not drawn."""

    def __init__(self, url: str) -> None:
        """Connect to a server on this machine, like a browser that has loaded the page's files."""
        address = f"ws://{urlsplit(url).netloc}/_stcore/stream"
        self._socket = connect(
            address, subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None, compression=None
        )
        self._page = ""
        self._boxes: dict[str, str] = {}

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def open(self) -> float:
        """Request the page; return the seconds until all of it has been received."""
        return self._run(BackMsg())

    def submit(self, label: str, text: str) -> float:
        """Type text into the box with this label, press Enter; return the seconds until the page is complete.

        Raises:
            LookupError: the page has no such box.
        """
        request = BackMsg()
        state = request.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = self._boxes[label], text
        return self._run(request)

    def _run(self, request: BackMsg) -> float:
        """Send a request and receive what one run of the script sends.

        Raises:
            RuntimeError: the run ended in an error.
            TimeoutError: it did not end in time.
        """
        request.rerun_script.page_script_hash = self._page
        request.rerun_script.context_info.color_scheme = "light"
        started = time.monotonic()
        self._socket.send(request.SerializeToString())
        while True:
            answer = ForwardMsg()
            left = started + LIMIT_SECONDS - time.monotonic()
            answer.ParseFromString(bytes(self._socket.recv(timeout=max(left, 0), decode=False)))
            self._remember(answer)
            if answer.WhichOneof("type") == "script_finished":
                if answer.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
                    raise RuntimeError(f"the run ended as {answer.script_finished}")
                return time.monotonic() - started

    def _remember(self, answer: ForwardMsg) -> None:
        """Store what the next request needs: the page's hash and the ids of its text boxes."""
        kind = answer.WhichOneof("type")
        if kind == "new_session":
            self._page = answer.new_session.page_script_hash
        elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "text_input":
            box = answer.delta.new_element.text_input
            self._boxes[box.label] = box.id
        elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(answer.delta.new_element.exception.message)
