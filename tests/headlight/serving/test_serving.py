"""`headlight serve`: workers are restarted and replaced, visitors stay, and nothing is left over."""

from __future__ import annotations

import os
import pty
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from headlight.serving.proxy import CONFIGURATION, find_haproxy
from scripts.browser import ROOT, free_port
from tests.browser.headlight import wait_for
from tests.headlight.serving.served import START, Served, all_ended, served
from tests.headlight.serving.small_app import BROKEN

pytestmark = pytest.mark.skipif(find_haproxy() is None, reason="HAProxy is not installed")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: those of sockets are limited."""
    with tempfile.TemporaryDirectory(prefix="hl-") as name:
        yield Path(name)


def worker(server: Served, cookie: str = "") -> int:
    """Process id of the worker that answers a visitor."""
    status, lines, _ = server.get(Cookie=cookie)
    assert status == 200
    return int(lines[0])


def test_a_visitor_stays_with_one_worker_and_a_new_one_gets_the_idle_one(folder: Path) -> None:
    with served(folder) as server:
        first = HTTPConnection(urlsplit(server.url).netloc)
        first.request("GET", "/stay")
        answer = first.getresponse()
        pid, cookie = int(answer.readline()), answer.headers["Set-Cookie"]
        assert cookie.startswith("headlight=w")
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert {worker(server) for _ in range(5)}.isdisjoint({pid})  # the first one is busy with a visitor
        assert {worker(server, cookie.partition(";")[0]) for _ in range(5)} == {pid}
        first.close()


def test_a_killed_worker_is_restarted_and_its_files_and_processes_are_gone(folder: Path) -> None:
    with served(folder) as server:
        _, (pid, file, child), cookie = server.get("/litter")
        assert Path(file).exists()
        os.kill(int(pid), signal.SIGKILL)
        assert worker(server, cookie) != int(pid)  # the other one, or the new one: no error in between
        server.wait_for_output("serves.", 3)
        assert "died (signal 9)" in server.output
        wait_for(lambda: not Path(file).parent.joinpath(Path(file).name).exists(), "the file is still there")
        wait_for(lambda: all_ended({int(child)}), "the worker's child still runs")
        assert server.get()[0] == 200


def test_a_worker_that_no_longer_answers_is_replaced(folder: Path) -> None:
    configuration = folder / "door.cfg"
    text = CONFIGURATION.read_text(encoding="utf-8")
    impatient = text.replace("timeout check 10s", "timeout check 2s")
    assert impatient != text
    configuration.write_text(impatient, encoding="utf-8")
    with served(folder, options=("--proxy", str(configuration)), HUNG_SECONDS="4") as server:
        pid = worker(server)
        os.kill(pid, signal.SIGSTOP)
        server.wait_for_output("serves.", 3)
        assert server.output.count("hasn't answered for 4 s. It is killed.") == 1
        assert all_ended({pid})
        assert server.get()[0] == 200


@pytest.mark.parametrize("n_workers", [1, 3])
def test_a_rolling_restart_always_has_a_worker_for_visitors(folder: Path, n_workers: int) -> None:
    with served(folder, n_workers) as server:
        before = server.descendants()
        server.signal(signal.SIGHUP)
        statuses = set()
        while "All workers are replaced." not in server.output:
            statuses.add(server.get()[0])
            assert server.process.poll() is None, server.output
        assert statuses == {200}
        wait_for(lambda: len(server.descendants()) == len(before), "an old process still runs")
        assert len(server.descendants() & before) == 1  # HAProxy
        assert "died" not in server.output


def test_code_that_cannot_be_loaded_replaces_nothing(folder: Path) -> None:
    with served(folder) as server:
        before = server.descendants()
        server.broken.touch()
        server.signal(signal.SIGHUP)
        server.wait_for_output("The workers stay as they are.")
        assert server.get()[0] == 200
        wait_for(lambda: server.descendants() == before, "other processes run than before")


@pytest.mark.parametrize("victim", ["haproxy", "fork server"])
def test_haproxy_and_the_fork_server_are_restarted_too(folder: Path, victim: str) -> None:
    with served(folder) as server:
        pid = int(server.get()[1][0])
        is_named = {"haproxy": "haproxy", "fork server": "small_app"}[victim]
        idle = {other for other in server.descendants() if is_named in command(other)}
        workers = {int(server.get()[1][0]) for _ in range(4)} | {pid}
        (found,) = idle - workers
        os.kill(found, signal.SIGKILL)
        wait_for(lambda: found not in server.descendants(), "it still runs")
        wait_for(lambda: len(server.descendants()) == 4, "it is not restarted")
        os.kill(pid, signal.SIGKILL)
        server.wait_for_output("serves.", 3)
        assert server.get()[0] == 200


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def test_a_second_server_leaves_the_files_of_the_first_one(folder: Path) -> None:
    with served(folder) as first:
        (folder / "second").mkdir()
        with served(folder / "second", TMPDIR=str(first.temporary)):
            assert len(list(first.temporary.iterdir())) == 2
        assert Path(first.get("/litter")[1][1]).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(folder: Path, number: signal.Signals) -> None:
    with served(folder) as server:
        child = int(server.get("/litter")[1][2])
        pids = server.descendants() | {child}
        server.signal(number)
        assert server.process.wait(timeout=60) == 0
        wait_for(lambda: all_ended(pids), "a process still runs")
        assert list(server.temporary.iterdir()) == []


def test_a_closed_terminal_ends_everything(folder: Path) -> None:
    variables = os.environ | {"TMPDIR": str(folder), BROKEN: str(folder / "broken")}
    command = [sys.executable, "-c", START, "--workers", "1", "--port", str(free_port())]
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        os.execve(sys.executable, command, variables)
    output = b""
    while b"serves." not in output:
        output += os.read(terminal, 1024)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert list(folder.iterdir()) == []


def test_nothing_outlives_a_killed_supervisor(folder: Path) -> None:
    with served(folder) as server:
        child = int(server.get("/litter")[1][2])
        pids = server.descendants()
        server.signal(signal.SIGKILL)
        server.process.wait(timeout=60)
        wait_for(lambda: all_ended(pids - {child}), "a process still runs")
        (left,) = server.temporary.iterdir()
    with served(folder):
        assert not left.exists()
        assert all_ended({child})


def test_an_app_that_cannot_start_ends_with_its_message(folder: Path) -> None:
    (folder / "broken").touch()
    server = Served(folder, 2, {})
    assert server.process.wait(timeout=60) == 1
    assert "the app is broken" in server.output
    assert server.output.endswith("The app can't be loaded: see the message above.\n")
    assert list(server.temporary.iterdir()) == []


def test_a_port_in_use_is_named(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = Served(folder, 1, {}, port)
        assert server.process.wait(timeout=60) == 1
    assert "cannot bind socket (Address already in use)" in server.output
    assert f"127.0.0.1:{port}]" in server.output


def test_a_password_is_asked_once(folder: Path) -> None:
    with served(folder, 1, HEADLIGHT_PASSWORD='two "words"') as server:
        assert server.get()[0] == 401
        assert server.get(Authorization="Basic aGVhZGxpZ2h0Om5v")[0] == 401  # headlight:no
        status, _, cookies = server.get(Authorization="Basic aGVhZGxpZ2h0OnR3byAid29yZHMi")
        assert status == 200
        assert "headlight_pass=" in cookies
        assert server.get(Cookie=cookies) == (200, server.get("/_stcore/health")[1], "")
        assert server.get(Cookie="headlight_pass=")[0] == 401
        assert "headlight_pass" not in server.get("/_stcore/health")[2]


@pytest.fixture(scope="module")
def door() -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="hl-") as name, served(Path(name), 1) as server:
        yield server


def test_pages_of_other_sites_are_refused(door: Served) -> None:
    assert door.get(Origin=door.url)[0] == 200
    assert door.get(Origin="https://evil.example")[0] == 403
    assert door.get(Origin="null")[0] == 403


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent/mcp"])
def test_what_no_browser_asks_for_is_refused(door: Served, path: str) -> None:
    assert door.get(path)[0] == 403
