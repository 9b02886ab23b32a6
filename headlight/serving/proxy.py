"""HAProxy: its configuration with the workers filled in, its process, and what it knows of the workers."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from headlight.serving.processes import end_with_parent

CONFIGURATION = Path(__file__).with_name("haproxy.cfg")
_SERVER = re.compile(r"^[ \t]+server[ \t].*\n?", re.MULTILINE)
RESTART_SECONDS = 1.0
"""Shortest time between two starts of HAProxy."""
_PATIENCE_SECONDS = 2.0


class ProxyError(RuntimeError):
    """HAProxy is missing, or refuses its configuration; the message says what to do."""


def find_haproxy() -> str | None:
    """Path of the program; None if it is not installed."""
    return shutil.which("haproxy", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


def configure(text: str, ports: Mapping[str, int], control: Path) -> str:
    """A configuration with these workers in place of its own `server` lines, and a socket to ask it at.

    Args:
        text: the configuration.
        ports: name of each worker -> its port of the loopback address.
        control: path of the socket.

    Raises:
        ProxyError: the configuration has no `server` line.
    """
    first = _SERVER.search(text)
    if first is None:
        raise ProxyError("The configuration of HAProxy has no line `server ...`, where the workers belong.")
    servers = "".join(f"    server {name} 127.0.0.1:{port} cookie {name}\n" for name, port in ports.items())
    around = text[: first.start()], _SERVER.sub("", text[first.end() :])
    return f"{around[0]}{servers}{around[1]}\nglobal\n    stats socket {control} mode 600\n"


class Proxy:
    """HAProxy in front of the workers.

    Args:
        folder: for the configuration and a socket.
        configuration: the file to take the configuration from.
        ports: name of each worker -> its port of the loopback address.
        bind: address and port to listen on, as "127.0.0.1:8501".

    Raises:
        ProxyError: HAProxy is not installed, or refuses the configuration.
    """

    def __init__(self, folder: Path, configuration: Path, ports: Mapping[str, int], bind: str) -> None:
        program = find_haproxy()
        if program is None:
            raise ProxyError("HAProxy is not installed. Install it with: sudo apt-get install haproxy")
        self._control = folder / "haproxy.sock"
        self._messages = folder / "haproxy.log"
        file = folder / "haproxy.cfg"
        text = configuration.read_text(encoding="utf-8")
        file.write_text(configure(text, ports, self._control), encoding="utf-8")
        self._command = [program, "-db", "-f", str(file)]
        self._environment = os.environ | {"HEADLIGHT_BIND": bind}
        self.pid = 0
        self._started_at = -RESTART_SECONDS

    def check(self) -> None:
        """Raise ProxyError if HAProxy refuses the configuration."""
        done = subprocess.run(
            [*self._command, "-c"], env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ProxyError(f"HAProxy refuses its configuration:\n{done.stderr.strip()}")

    def tend(self) -> None:
        """Start the process if there is none."""
        now = time.monotonic()
        if self.pid or now < self._started_at + RESTART_SECONDS:
            return
        self._started_at = now
        with self._messages.open("wb") as messages:
            process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                start_new_session=True,  # Ctrl-C is for the supervisor alone
                preexec_fn=end_with_parent,  # noqa: PLW1509 (the supervisor has no threads)
            )
        self.pid = process.pid
        process.returncode = 0  # reaped by the supervisor

    def messages(self) -> str:
        """What HAProxy has printed since it was started."""
        return self._messages.read_text(encoding="utf-8", errors="replace").strip()

    def workers_up(self) -> set[str]:
        """Names of the workers to which HAProxy sends visitors; empty if it does not answer."""
        return {row["svname"] for row in self._workers() if row["status"].startswith("UP")}

    def workers_down(self, seconds: float) -> set[str]:
        """Names of the workers that have failed all checks for so long; empty if HAProxy does not answer."""
        return {
            row["svname"]
            for row in self._workers()
            if row["status"].startswith("DOWN") and int(row["lastchg"]) >= seconds
        }

    def _workers(self) -> list[dict[str, str]]:
        """HAProxy's statistics of each worker."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as control:
            control.settimeout(_PATIENCE_SECONDS)
            control.connect(str(self._control))
            control.sendall(b"show stat\n")
            with control.makefile(encoding="utf-8") as answer:
                return [row for row in csv.DictReader(answer) if row["svname"] not in ("FRONTEND", "BACKEND")]
        return []

    def end(self) -> None:
        """End the process at once, with its connections."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
