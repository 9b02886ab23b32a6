"""Set-up chooses quickly where to install PyTorch from, and says in a sentence what it can't do."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from scripts import install


@pytest.fixture(autouse=True)
def linux_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(install, "PROBE_SECONDS", 60.0)  # on a busy machine an answer may be slow
    monkeypatch.delenv("TORCH_INDEX", raising=False)


@pytest.fixture
def index() -> Iterator[str]:
    """A package index that has torch."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/whl/torch/" else 404)
            self.end_headers()

        def log_message(self, *details: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Index) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/whl"
        server.shutdown()
        thread.join()


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts connections and never answers, like a firewall."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_an_index_that_answers_is_taken(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", index)
    assert install.torch_index() == index


def test_an_index_that_is_silent_is_given_up_soon(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", silent)
    monkeypatch.setattr(install, "PROBE_SECONDS", 0.3)
    assert install.torch_index() is None, "without the limit it would wait for ever"


@pytest.mark.parametrize("elsewhere", ["/other", "x"])
def test_an_index_without_torch_is_not_taken(
    index: str, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", index + elsewhere)
    assert install.torch_index() is None


def test_with_a_driver_pips_own_index_is_taken(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", index)
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: True)
    assert install.torch_index() is None


def test_elsewhere_than_on_linux_pips_own_index_is_taken(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", index)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert install.torch_index() is None


@pytest.mark.parametrize("wanted, taken", [("pip", None), ("https://a.example/whl", "https://a.example/whl")])
def test_torch_index_overrides(wanted: str, taken: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "TORCH_CPU_INDEX", "http://127.0.0.1:1")
    monkeypatch.setenv("TORCH_INDEX", wanted)
    assert install.torch_index() == taken


def test_an_old_python_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(sys, "argv", ["install.py", "requirements.txt"])
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer, and .* is 3\.9"):
        install.main()


def test_torch_is_pinned() -> None:
    assert install.torch_requirement().startswith("torch==")


def test_headlight_runs_where_it_can_not_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its build needs one more package from the network, which may be out of reach."""
    monkeypatch.setattr(install, "run", lambda *command, quiet=False: False)
    install.install_headlight()
    assert "it runs all the same" in capsys.readouterr().out
