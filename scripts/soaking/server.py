"""The server of a soak: `headlight serve` with a disk of its own, its memory over time, and its log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from scripts.browser import ROOT, comes_up, free_port, stop
from scripts.processes import age, family, listening_sockets, proportional, sockets

DISK_MEGABYTES = 512
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*.*", re.MULTILINE)


class Server:
    """The app with its proxy in front.

    Attributes:
        url: where visitors open it.
        n_workers: number of its worker processes.
        disk: the small disk with its temporary files; None if this machine lets us have none.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], url: str, n_workers: int, disk: Path | None, log: IO[str]
    ) -> None:
        self.url, self.n_workers, self.disk = url, n_workers, disk
        self._process, self._log = process, log

    def workers(self) -> dict[int, float]:
        """The workers that listen on a port: process id -> seconds since it was forked, oldest first."""
        listening = listening_sockets()
        found = {}
        for pid in family(self._process.pid):
            with suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
                if name != "haproxy" and listening & sockets(pid):
                    found[pid] = age(pid)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def memory(self) -> int:
        """The memory of all processes in bytes; what several share is counted once."""
        return sum(map(proportional, family(self._process.pid)))

    def n_sockets(self) -> int:
        """The number of sockets that all processes hold."""
        names = map(sockets, family(self._process.pid))
        return sum(name.startswith("socket:") for found in names for name in found)

    def kill_youngest(self) -> int:
        """Kill the youngest worker, so that the others show what a long life does; returns its id."""
        pid = list(self.workers())[-1]
        os.kill(pid, signal.SIGKILL)
        return pid

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leave no room on the disk with the temporary files."""
        assert self.disk is not None
        filler = self.disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        yield
        filler.unlink()

    def tracebacks(self) -> list[str]:
        """All tracebacks in what the server has printed."""
        return tracebacks_in(self.printed())

    def printed(self) -> str:
        """Everything that the server has printed."""
        self._log.seek(0)
        return self._log.read()


def tracebacks_in(log: str) -> list[str]:
    """All tracebacks in a log, each with its last line, which names the error."""
    return _TRACEBACK.findall(log)


@contextmanager
def serving(n_workers: int, folder: Path) -> Iterator[Server]:
    """Run `headlight serve` until the block ends, with its temporary files on a small disk if possible.

    Raises:
        RuntimeError: it did not start.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    where = ["--workers", str(n_workers), "--port", str(port)]
    with small_disk(folder / "disk") as disk, (folder / "log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "headlight", "serve", *where],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(folder if disk is None else disk)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        server = Server(process, url, n_workers, disk, log)
        try:
            if not comes_up(process, f"{url}/_stcore/health") or not server_is_complete(server, 60):
                raise RuntimeError(f"headlight serve did not come up:\n{server.printed()}")
            yield server
        finally:
            stop(process)


def server_is_complete(server: Server, seconds: float) -> bool:
    """Wait until all workers listen; False if that takes longer."""
    deadline = time.monotonic() + seconds
    while len(server.workers()) < server.n_workers:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A disk in memory; None where this user or machine may not mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        is_mounted = False
    try:
        yield folder if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)
