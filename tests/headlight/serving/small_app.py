"""A fork server with a small app in place of Headlight, which does what a test asks of a worker."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from headlight.serving import fork_server

BROKEN = "SMALL_APP_BROKEN"
"""Variable with the path of a file; if it exists, the app can't be loaded."""


class Answers(BaseHTTPRequestHandler):
    """Answers with the worker's process id, and further lines for some paths."""

    def do_GET(self) -> None:
        lines = [str(os.getpid())]
        if self.path == "/litter":
            with tempfile.NamedTemporaryFile(delete=False) as file:
                child = subprocess.Popen(["sleep", "600"], start_new_session=True)
                lines += [file.name, str(child.pid)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("".join(f"{line}\n" for line in lines).encode())
        self.wfile.flush()
        if self.path == "/stay":
            self.rfile.read()  # until the visitor leaves

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def load() -> None:
    if Path(os.environ[BROKEN]).exists():
        raise RuntimeError("the app is broken")


def serve(options: Sequence[str], n_threads: int) -> None:
    port = int(options[options.index("--server.port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Answers).serve_forever()


if __name__ == "__main__":
    vars(fork_server).update(load_for_forks=load, run_fork=serve)
    fork_server.serve_forks(int(sys.argv[1]), sys.argv[2:])
