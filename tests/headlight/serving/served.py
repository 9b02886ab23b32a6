"""`headlight serve` with the small app, for tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from scripts.browser import ROOT, free_port
from tests.browser.headlight import wait_for
from tests.headlight.serving.small_app import BROKEN

START = (
    "import os, sys\n"
    "from headlight.serving import fork_server, supervisor\n"
    "from headlight.serving.command import serve\n"
    "fork_server.MODULE = 'tests.headlight.serving.small_app'\n"
    "supervisor.HUNG_SECONDS = float(os.environ.get('HUNG_SECONDS', supervisor.HUNG_SECONDS))\n"
    "sys.exit(serve(sys.argv[1:]))\n"
)


class Served:
    """A running supervisor.

    Attributes:
        url: of the door.
        temporary: the folder in which the supervisor makes its own.
        broken: once this file exists, the app can't be loaded.
    """

    def __init__(
        self,
        folder: Path,
        n_workers: int,
        environment: dict[str, str],
        port: int = 0,
        options: Sequence[str] = (),
    ) -> None:
        port = port or free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.temporary, self.broken, self._log = folder / "t", folder / "broken", folder / "log"
        self.temporary.mkdir(exist_ok=True)
        environment = {"TMPDIR": str(self.temporary), BROKEN: str(self.broken)} | environment
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, "--workers", str(n_workers), "--port", str(port), *options],
                cwd=ROOT,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def wait_for_output(self, text: str, times: int = 1) -> None:
        def is_printed() -> bool:
            assert self.process.poll() is None, self.output
            return self.output.count(text) >= times

        wait_for(is_printed, f"{text!r} was not printed {times} times")

    def get(self, path: str = "/", **headers: str) -> tuple[int, list[str], str]:
        """Ask at the door: status, lines of the answer, and the cookie that it sets ("" for none)."""
        try:
            with urlopen(Request(self.url + path, headers=headers), timeout=60) as answer:
                cookies = [value.partition(";")[0] for value in answer.headers.get_all("Set-Cookie", [])]
                return answer.status, answer.read().decode().splitlines(), "; ".join(cookies)
        except HTTPError as error:
            return error.code, [], ""

    def descendants(self) -> set[int]:
        """The supervisor's processes; orphans among them are its children."""
        found, unseen = set[int](), [self.process.pid]
        while unseen:
            pid = unseen.pop()
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            unseen += [int(child) for child in children]
            found |= {int(child) for child in children}
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@contextmanager
def served(
    folder: Path, n_workers: int = 2, options: Sequence[str] = (), **environment: str
) -> Iterator[Served]:
    """Serve the small app until the block ends."""
    server = Served(folder, n_workers, environment, options=options)
    try:
        server.wait_for_output("serves.", n_workers)
        yield server
    finally:
        server.process.terminate()
        assert server.process.wait(timeout=60) in (0, -signal.SIGKILL)


def all_ended(pids: set[int]) -> bool:
    return all(has_ended(pid) for pid in pids)


def has_ended(pid: int) -> bool:
    """True if there is no process with this id, or only the record of a dead one."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
