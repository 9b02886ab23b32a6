"""What Linux offers to keep a family of processes together: no process outlives the supervisor."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36


def end_with_parent() -> None:
    """Have the system kill this process when its parent dies; to be called in the new process."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def name_process(name: str) -> None:
    """Name this process in lists such as those of `top`; 15 bytes are shown."""
    _prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()))


def end_processes_in(folder: Path) -> None:
    """Kill all processes that were started with this folder for their temporary files."""
    while found := [pid for pid in _process_ids() if _temporary_folder(pid) == folder]:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap_all(found)


def _reap_all(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):  # the child of another process, which reaps it
            os.waitpid(pid, 0)


def _process_ids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _temporary_folder(pid: int) -> Path | None:
    """The folder for temporary files with which a process was started; None if it can't be known."""
    try:
        environment = (Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    named = [entry for entry in environment if entry.startswith(b"TMPDIR=")]
    return Path(os.fsdecode(named[0].partition(b"=")[2])) if named else None


def _prctl(option: int, value: int | ctypes.c_char_p) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
