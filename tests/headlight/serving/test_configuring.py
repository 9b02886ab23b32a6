"""What can be said of `headlight serve` without starting it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from headlight.__main__ import main
from headlight.serving import proxy, workers
from headlight.serving.fork_server import ForkServer
from headlight.serving.proxy import CONFIGURATION, ProxyError, configure, find_haproxy
from headlight.serving.workers import Slot

needs_haproxy = pytest.mark.skipif(find_haproxy() is None, reason="HAProxy is not installed")


def test_without_haproxy_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proxy, "find_haproxy", lambda: None)
    assert main(["serve", "--workers", "2"]) == 1
    assert "sudo apt-get install haproxy" in capsys.readouterr().err


def test_workers_take_the_place_of_the_server_lines() -> None:
    text = configure(CONFIGURATION.read_text(), {"a": 9001, "b": 9002, "c": 9003}, Path("/run/s"))
    servers = [line.strip() for line in text.splitlines() if line.strip().startswith("server ")]
    assert servers == [f"server {name} 127.0.0.1:900{n} cookie {name}" for n, name in enumerate("abc", 1)]
    assert text.index("default-server") < text.index("server a")


def test_a_configuration_without_servers_is_refused() -> None:
    with pytest.raises(ProxyError, match="no line `server"):
        configure("frontend door\n", {"a": 9001}, Path("/run/s"))


@needs_haproxy
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"HEADLIGHT_BIND": "0.0.0.0:80"},
        {"HEADLIGHT_BIND": "[::1]:80"},
        {"HEADLIGHT_PASSWORD": "two 'words'"},
    ],
    ids=lambda variables: " ".join(variables.values()) or "none",
)
def test_haproxy_accepts_the_configuration(variables: Mapping[str, str]) -> None:
    check_configuration(variables)


@needs_haproxy
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_haproxy_accepts_the_configuration_with_a_certificate(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    options = (
        f"req -x509 -newkey rsa:2048 -nodes -subj /CN=headlight.example -keyout {key} -out {certificate}"
    )
    subprocess.run(["openssl", *options.split()], capture_output=True, check=True)
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    check_configuration({"HEADLIGHT_CERTIFICATE": str(both), "HEADLIGHT_PASSWORD": "secret"})


def check_configuration(variables: Mapping[str, str]) -> None:
    done = subprocess.run(
        [str(find_haproxy()), "-c", "-f", str(CONFIGURATION)],
        env=dict(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


class Clock:
    """A clock that tests set, and a fork server that starts nothing."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def fork(self, port: int, folder: Path) -> int:
        return 2**30  # no process has such an id


def test_a_worker_that_dies_again_and_again_waits_longer_each_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock()
    monkeypatch.setattr(workers, "time", clock)
    slot = Slot("w0", 9001, tmp_path / "w0", is_wanted=True)

    def pause_after(seconds: float) -> float:
        slot.tend(cast(ForkServer, clock))
        assert slot.pid
        clock.now += seconds
        pause = slot.clean_up()
        slot.tend(cast(ForkServer, clock))
        assert bool(slot.pid) == (pause == 0)
        clock.now += pause
        return pause

    assert [pause_after(0.1) for _ in range(7)] == [0, 1, 3, 7, 15, 30, 30]
    assert pause_after(61) == 0
