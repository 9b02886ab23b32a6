"""A browser's connection to the app, without a browser: cookies, the websocket's messages, and uploads."""

from __future__ import annotations

import http.client
import secrets
import time
from collections.abc import Sequence
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

RUN_SECONDS = 60.0
"""A visitor gives up on an answer that takes longer than this."""
_HTTP_SECONDS = 60.0
_SUCCESSES = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class PageError(Exception):
    """The app answered with an error that no user may see."""


class Connection:
    """One browser's visit: a session of the app, its cookies, and what its page shows now.

    Args:
        url: the server.
        path: the page's path, "" for the start page.
        query: the page's address after "?".
        cookies: of an earlier visit of this browser.

    Attributes:
        query: the page's address after "?", as the app sets it.
        pages: path of each page -> its hash.
        widgets: (kind, label) of each widget on the page -> its id.
        received: everything received for the last request.
        cookies: name -> value.
    """

    def __init__(
        self, url: str, path: str = "", query: str = "", cookies: dict[str, str] | None = None
    ) -> None:
        self.query, self.cookies = query, dict(cookies or {})
        self.pages: dict[str, str] = {}
        self.widgets: dict[tuple[str, str], str] = {}
        self.received = b""
        self._parts: list[bytes] = []
        self._path, self._page, self._session = path, "", ""
        self._url, self._host = url, urlsplit(url).netloc
        self._get_cookies()
        self._opened = connect(
            f"ws://{self._host}/_stcore/stream",
            origin=Origin(url),
            subprotocols=[Subprotocol("streamlit"), Subprotocol(self.cookies.get("_streamlit_xsrf", "none"))],
            additional_headers={"Cookie": self._cookie_header()},
            max_size=None,
            proxy=None,
            compression=None,
            open_timeout=RUN_SECONDS,
        )
        self._socket: ClientConnection = self._opened.__enter__()

    def close(self) -> None:
        """Leave, as a browser that closes the page does."""
        self._opened.__exit__(None, None, None)

    @property
    def path(self) -> str:
        """Path of the page that is shown."""
        return self._path

    def open(self) -> float:
        """Request the page at its address; returns the seconds until all of it is received."""
        return self._run(BackMsg())

    def go(self, path: str) -> float:
        """Follow a link to another page."""
        self._page, self._path = self.pages[path], path
        return self._run(BackMsg())

    def type(self, label: str, text: str) -> float:
        """Type into a box and press Enter."""
        request = BackMsg()
        state = request.rerun_script.widget_states.widgets.add()
        state.id, state.string_value = self.widgets["text_input", label], text
        return self._run(request)

    def pick(self, label: str, option: str) -> float:
        """Pick one of several buttons."""
        request = BackMsg()
        state = request.rerun_script.widget_states.widgets.add()
        state.id = self.widgets["button_group", label]
        state.string_array_value.data.append(option)
        return self._run(request)

    def press(self, label: str, uploads: FileUploaderState | None = None) -> float:
        """Press a button; one of a form with an uploader sends its files too."""
        request = BackMsg()
        state = request.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = self.widgets["button", label], True
        if uploads is not None:
            state = request.rerun_script.widget_states.widgets.add()
            state.id = next(own for (kind, _), own in self.widgets.items() if kind == "file_uploader")
            state.file_uploader_state_value.CopyFrom(uploads)
        return self._run(request)

    def upload(self, paths: Sequence[Path]) -> FileUploaderState:
        """Upload files over HTTP, as the page's uploader does.

        Raises:
            PageError: the server refuses one of them.
        """
        request = BackMsg()
        request.file_urls_request.request_id = secrets.token_hex(8)
        request.file_urls_request.file_names.extend(path.name for path in paths)
        request.file_urls_request.session_id = self._session
        self._socket.send(request.SerializeToString())
        while (answer := self._receive(time.monotonic() + RUN_SECONDS)).WhichOneof(
            "type"
        ) != "file_urls_response":
            pass
        uploads = FileUploaderState()
        for path, urls in zip(paths, answer.file_urls_response.file_urls, strict=True):
            content = path.read_bytes()
            self._put(urls.upload_url, path.name, content)
            info = uploads.uploaded_file_info.add()
            info.name, info.size, info.file_id = path.name, len(content), urls.file_id
            info.file_urls.CopyFrom(urls)
        return uploads

    def _put(self, address: str, name: str, content: bytes) -> None:
        boundary = secrets.token_hex(16)
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "X-Xsrftoken": self.cookies.get("_streamlit_xsrf", ""),
            "Cookie": self._cookie_header(),
        }
        client = http.client.HTTPConnection(self._host, timeout=_HTTP_SECONDS)
        client.request("PUT", address, body, headers)
        status = client.getresponse().status
        client.close()
        if status in (502, 503, 504):  # the proxy's, while a worker is gone
            raise ConnectionError(f"the upload was answered with status {status}")
        if status not in (200, 204):
            raise PageError(f"the upload of {name} was answered with status {status}")

    def _get_cookies(self) -> None:
        """Load the start page and what the browser asks for before it opens the websocket."""
        client = http.client.HTTPConnection(self._host, timeout=_HTTP_SECONDS)
        for path in ("/", "/_stcore/host-config", "/_stcore/health"):
            headers = {"Cookie": self._cookie_header()} if self.cookies else {}
            client.request("GET", path, headers=headers)
            answer = client.getresponse()
            answer.read()
            if answer.status != 200:
                raise ConnectionError(f"{path} was answered with status {answer.status}")
            for line in answer.headers.get_all("Set-Cookie", []):
                self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        client.close()

    def _cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _run(self, request: BackMsg) -> float:
        """Send a request and receive what one run of the page sends.

        Raises:
            PageError: the page shows an exception, or its run failed.
            TimeoutError: it did not end in time.
        """
        state = request.rerun_script
        state.page_script_hash, state.query_string = self._page, self.query
        if not self._page:
            state.page_name = self._path
        state.context_info.color_scheme, state.context_info.url = "light", f"{self._url}/{self._path}"
        started = time.monotonic()
        self._parts.clear()
        self._socket.send(request.SerializeToString())
        while True:
            answer = self._receive(started + RUN_SECONDS)
            if answer.WhichOneof("type") == "script_finished":
                if answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    continue  # the page asked for another run of itself
                if answer.script_finished not in _SUCCESSES:
                    raise PageError(f"the run ended as {answer.script_finished}")
                self.received = b"".join(self._parts)
                return time.monotonic() - started

    def _receive(self, deadline: float) -> ForwardMsg:
        answer = ForwardMsg()
        left = max(deadline - time.monotonic(), 0)
        self._parts.append(bytes(self._socket.recv(timeout=left, decode=False)))
        answer.ParseFromString(self._parts[-1])
        self._remember(answer)
        return answer

    def _remember(self, answer: ForwardMsg) -> None:
        kind = answer.WhichOneof("type")
        if kind == "new_session":
            self._session = answer.new_session.initialize.session_id
            self._page = answer.new_session.page_script_hash
            self.widgets.clear()
        elif kind == "navigation":
            self._page = answer.navigation.page_script_hash
            self.pages = {
                "" if page.is_default else page.url_pathname: page.page_script_hash
                for page in answer.navigation.app_pages
            }
        elif kind == "page_info_changed":
            self.query = answer.page_info_changed.query_string
        elif kind == "session_event" and answer.session_event.HasField("script_compilation_exception"):
            raise PageError(answer.session_event.script_compilation_exception.message)
        elif kind == "delta":
            self._remember_element(answer.delta)

    def _remember_element(self, delta: Delta) -> None:
        kind = delta.new_element.WhichOneof("type")
        if kind == "exception":
            raise PageError(f"the page shows an exception: {delta.new_element.exception.message}")
        if kind in ("text_input", "button", "button_group", "file_uploader"):
            widget = getattr(delta.new_element, kind)
            self.widgets[kind, widget.label] = widget.id
