"""A process that has loaded everything and forks workers, which share its memory; and the handle to it.

A fork starts in a fraction of a second, where loading takes ten, and what nobody changes (libraries, weights,
the first run) is in memory once for all workers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headlight.serving.app import load_for_forks, run_fork
from headlight.serving.processes import end_with_parent, name_process

MODULE = "headlight.serving.fork_server"
"""What a fork server runs."""
_READY = "ready"
_SINGLE_THREADED = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # looks for a GPU without starting to use it
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OMP_WAIT_POLICY": "PASSIVE",  # PyTorch's waiting threads sleep
}
"""Settings of libraries by which none of them starts a thread: a fork has only the thread that forked."""


class ForkServer:
    """The supervisor's handle to a fork server, which begins to load at once.

    Args:
        options: those of `streamlit run`, for all workers.
        n_threads: number of PyTorch's threads in each worker.
        folder: for temporary files that its forks share; created here, removed by the supervisor.
    """

    def __init__(self, options: Sequence[str], n_threads: int, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, str(n_threads), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the supervisor alone
            env=_SINGLE_THREADED | os.environ | {"TMPDIR": str(folder)},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders, self.answers = process.stdin, process.stdout
        self.pid = process.pid
        process.returncode = 0  # reaped by the supervisor

    def read_ready(self) -> bool:
        """Read that everything is loaded, once `answers` has something to read; False if loading failed."""
        return self.answers.readline().strip() == _READY

    def fork(self, port: int, folder: Path) -> int | None:
        """Start a worker and return its process id; None if the fork server has died.

        Args:
            port: port of the loopback address to listen on.
            folder: for the worker's temporary files.
        """
        with suppress(OSError):
            print(json.dumps({"port": port, "folder": str(folder)}), file=self._orders, flush=True)
            if answer := self.answers.readline():
                return int(answer)
        return None

    def close(self) -> None:
        """End the process; its forks stay."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.answers.close()
        with suppress(OSError):
            self._orders.close()


def serve_forks(n_threads: int, options: Sequence[str]) -> None:
    """Load everything, say so, and fork for each line read, until the supervisor is gone."""
    end_with_parent()
    supervisor = os.getppid()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    load_for_forks()
    print(_READY, file=answers, flush=True)
    for line in sys.stdin:
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            continue
        between = os.getpid()
        worker = os.fork()
        if worker:
            print(worker, file=answers, flush=True)
            os._exit(0)
        while os.getppid() == between:  # when that process has ended, the supervisor is the parent
            time.sleep(0.001)
        end_with_parent()
        if os.getppid() != supervisor:
            os._exit(1)
        answers.close()
        _work(json.loads(line), n_threads, options)


def _work(order: dict[str, Any], n_threads: int, options: Sequence[str]) -> None:
    """Serve as a worker until the process ends."""
    name_process(f"headlight {Path(order['folder']).name}")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.environ["TMPDIR"] = order["folder"]
    tempfile.tempdir = None  # known from before the fork
    status = 1
    try:
        run_fork(["--server.port", str(order["port"]), *options], n_threads)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(status)  # a normal exit takes seconds on a busy machine


if __name__ == "__main__":
    serve_forks(int(sys.argv[1]), sys.argv[2:])
