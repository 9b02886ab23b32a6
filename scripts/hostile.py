"""Attacks `headlight serve` while a few people use it: attackers are refused or dropped, people are served.

A thousand connections say nothing, some requests never end, some clients ask and never read, others send what
is no message or is too long. The exit status is 1 if people then wait more than twice as long, or if the
server keeps memory or connections of the attackers.
"""

from __future__ import annotations

import argparse
import logging
import random
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from scripts.soaking.connection import Connection
from scripts.soaking.people import SENTENCES, names
from scripts.soaking.server import Server, serving

ATTACKER = "127.0.0.2"
"""The attackers' address: people have another one."""
SLOWER = 2.0
"""How much longer the 95th percentile of the waits may be."""
MEMORY = 300 * 2**20
"""Bytes that the server may have more of while it is attacked: the sessions of a thousand websockets."""
DROP_SECONDS = 240.0
"""Time after which nothing is left of silent clients: two of Streamlit's pings, and two minutes in which a
session may be continued."""
STAY = 150
"""Sockets of attackers that the server may then hold: one client a second still sends no messages, and what
each had is kept for two minutes, too."""
ASK_SECONDS = 10.0
"""Time between two requests of a client that never reads: as often as a person asks."""
TOO_LONG = bytes(100_000_000)
NO_MESSAGES: tuple[bytes | str, ...] = (
    "text",
    b"\xff" * 8,
    b"\x0a" + b"\xff" * 9 + b"\x01",
    b"\x22\x06",
    b"",
    b"\x22",
)


def handshake(url: str) -> bytes:
    """The request of a browser that opens the app's websocket."""
    return (
        f"GET /_stcore/stream HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nOrigin: {url}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: streamlit\r\n\r\n"
    ).encode()


def frame(message: bytes) -> bytes:
    """A short binary message of a client as a websocket's frame, with a mask of zeros."""
    assert len(message) < 126
    return bytes((0x82, 0x80 | len(message), 0, 0, 0, 0)) + message


@contextmanager
def silent(url: str, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Connections that say this much at first, and then nothing, and that read nothing."""
    place = (urlsplit(url).hostname, urlsplit(url).port)
    with ExitStack() as opened:
        sockets = []
        for _ in range(count):
            one = opened.enter_context(closing(socket.socket()))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with suppress(OSError):  # one address may not have all of them
                one.bind((ATTACKER, 0))
                one.connect(place)
                one.sendall(said)
            sockets.append(one)
        yield sockets


def repeat(sockets: list[socket.socket], said: bytes, every: float, over: threading.Event) -> None:
    """Send these bytes on all connections every few seconds, as long as the system takes them."""
    while not over.wait(every):
        for one in sockets:
            with suppress(OSError):
                one.send(said, socket.MSG_DONTWAIT)


def send_no_messages(url: str, over: threading.Event) -> None:
    """Open a websocket a second, and send what is no message, or a message that is too long."""
    rng = random.Random(0)
    while not over.wait(1):
        address = f"ws{url.removeprefix('http')}/_stcore/stream"
        with (
            suppress(OSError, WebSocketException, EOFError),
            connect(
                address, origin=Origin(url), proxy=None, compression=None, source_address=(ATTACKER, 0)
            ) as client,
        ):
            client.send(rng.choice((*NO_MESSAGES, TOO_LONG)))
            client.recv(timeout=5)


@contextmanager
def attack(url: str) -> Iterator[None]:
    """All attacks at once."""
    rerun = BackMsg()
    rerun.rerun_script.query_string = ""
    over = threading.Event()
    with (
        silent(url, 500, b"") as _,
        silent(url, 500, handshake(url)) as _,
        silent(url, 200, b"GET / HTTP/1.1\r\nHost: ") as begun,
        silent(url, 20, handshake(url)) as deaf,
    ):
        attackers: list[Callable[[], None]] = [
            partial(repeat, begun, b"a", 1, over),
            partial(repeat, deaf, frame(rerun.SerializeToString()), ASK_SECONDS, over),
            partial(send_no_messages, url, over),
        ]
        threads = [threading.Thread(target=attacker, daemon=True) for attacker in attackers]
        for thread in threads:
            thread.start()
        yield
        over.set()
        for thread in threads:
            thread.join()


def most_sockets(server: Server) -> int:
    """The number of sockets that the server holds once it has accepted all that wait."""
    most = 0
    while (now := server.n_sockets()) > most:
        most = now
        time.sleep(1)
    return most


def waits(url: str, people: int, sentences: int, rng: random.Random) -> list[float]:
    """How long people wait for their sentences, in seconds, ascending."""

    def visit(word: str) -> list[float]:
        connection = Connection(url)
        with closing(connection):
            connection.open()
            label = next(label for kind, label in connection.widgets if kind == "text_input")
            found = []
            for _ in range(sentences):
                found.append(connection.type(label, rng.choice(SENTENCES).format(word)))
                time.sleep(1)
            return found

    with ThreadPoolExecutor(people) as pool:
        return sorted(wait for found in pool.map(visit, names(people, rng)) for wait in found)


def main() -> int:
    """Attack once; returns exit status 1 if people felt it, or if something stayed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=6)
    parser.add_argument("--sentences", type=int, default=30)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    given = parser.parse_args()
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # it logs that it was dropped
    print(f"seed {given.seed}", flush=True)
    rng, findings = random.Random(given.seed), []
    with tempfile.TemporaryDirectory() as folder, serving(2, Path(folder)) as server:
        waits(server.url, given.people, given.sentences, rng)  # the caches are then as full as they will be
        calm, before, held = (
            waits(server.url, given.people, given.sentences, rng),
            server.memory(),
            server.n_sockets(),
        )
        with attack(server.url):
            most = most_sockets(server)
            attacked, after = waits(server.url, given.people, given.sentences, rng), server.memory()
            deadline = time.monotonic() + DROP_SECONDS
            while server.n_sockets() > held + STAY and time.monotonic() < deadline:
                time.sleep(1)
            left = server.n_sockets()
        at = int(0.95 * len(calm))
        print(f"95 in 100 sentences within {calm[at]:.2f} s, attacked {attacked[at]:.2f} s")
        print(f"memory {before / 2**20:,.0f} MiB, attacked {after / 2**20:,.0f} MiB")
        print(f"connections {held}, attacked {most}, {left} once the silent ones were dropped")
        if attacked[at] > SLOWER * calm[at]:
            findings.append("people wait more than twice as long")
        if after > before + MEMORY:
            findings.append("the server's memory grows")
        if left > held + STAY:
            findings.append("silent connections stay")
    print("\n".join(findings) or "Nothing was found.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
