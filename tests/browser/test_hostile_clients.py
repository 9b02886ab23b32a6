"""Clients that are no browsers: what they send is refused or dropped, and the next visitor is served."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from scripts.soaking.connection import Connection

SECONDS = 60.0
OUTSIDE = [
    "/../../etc/passwd",
    "/media/../../../etc/passwd",
    "/media/%2e%2e/%2e%2e/etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/static/..%2f..%2f..%2fetc/passwd",
    "/component/headlight.bridge/../../../pyproject.toml",
    "/_stcore/bidi-components/headlight.bridge/../../../__init__.py",
    "/_stcore/bidi-components/headlight.bridge/..%2f__init__.py",
    "/_stcore/bidi-components/headlight.bridge//etc/passwd",
    "//etc/passwd",
    "/media/\\..\\..\\etc\\passwd",
    "/%00",
]
"""Paths outside what is served."""


@pytest.fixture
def host(app_url: str) -> str:
    return urlsplit(app_url).netloc


def connected(host: str) -> socket.socket:
    name, port = host.split(":")
    return socket.create_connection((name, int(port)), timeout=SECONDS)


def answer(host: str, request: bytes) -> bytes:
    """The answer to a request that is sent as it is."""
    with connected(host) as client:
        client.sendall(request)
        received = b""
        while part := client.recv(65536):
            received += part
        return received


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_is_refused(path: str, host: str) -> None:
    found = answer(host, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 4"), found[:200]
    assert b"root:" not in found


@pytest.mark.parametrize(
    "origin, forged",
    [("http://evil.example", ""), ("null", ""), ("", "evil.example"), ("http://evil.example",) * 2],
)
def test_a_websocket_of_another_site_is_refused(origin: str, forged: str, app_url: str, host: str) -> None:
    """By its Origin, or by a Host that a name on another site was pointed at."""
    headers = {"Host": urlsplit(forged).netloc or forged} if forged else {}
    with (
        pytest.raises(InvalidStatus) as refused,
        connected(host) as client,
        connect(
            f"ws://{headers.get('Host', host)}/_stcore/stream",
            sock=client,
            origin=Origin(origin) if origin else None,
            proxy=None,
        ),
    ):
        pytest.fail("it was let in")
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("headers", [{}, {"X-Xsrftoken": "2|a|b|1", "Cookie": "_streamlit_xsrf=2|c|d|1"}])
def test_uploads_without_the_pages_token_are_refused(method: str, headers: dict[str, str], host: str) -> None:
    with closing(http.client.HTTPConnection(host, timeout=SECONDS)) as client:
        client.request(method, "/_stcore/upload_file/session/file", b"content", headers)
        assert client.getresponse().status == 403


@pytest.mark.parametrize(
    "make, code",
    [
        (lambda: b"\xff" * 8, 1002),
        (lambda: b"\x0a" + b"\xff" * 9 + b"\x01", 1002),  # a length of 2**63
        (lambda: b"\x22\x06", 1002),
        (lambda: bytes(26_000_000), 1009),
        (lambda: bytes(100_000_000), None),
    ],
    ids=["noise", "huge length", "cut off", "too long", "far too long"],
)
def test_what_is_no_message_ends_its_connection_alone(
    make: Callable[[], bytes], code: int | None, app_url: str, host: str
) -> None:
    with closing(Connection(app_url)) as other:
        other.open()
        with connect(
            f"ws://{host}/_stcore/stream", origin=Origin(app_url), proxy=None, compression=None
        ) as bad:
            with suppress(ConnectionClosed):  # it may be dropped before everything is sent
                bad.send(make())
            with pytest.raises(ConnectionClosed) as ended:
                bad.recv(timeout=SECONDS)
            assert code is None or (ended.value.rcvd is not None and ended.value.rcvd.code == code)
        label = next(label for kind, label in other.widgets if kind == "text_input")
        other.type(label, "the cat sleeps .")
        assert b"the cat sleeps ." in other.received


def test_text_in_place_of_a_message_ends_its_connection(app_url: str, host: str) -> None:
    with connect(f"ws://{host}/_stcore/stream", origin=Origin(app_url), proxy=None) as bad:
        bad.send("text")
        with pytest.raises(ConnectionClosed):
            bad.recv(timeout=SECONDS)
