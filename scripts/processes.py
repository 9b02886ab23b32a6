"""What Linux says of processes and all that descend from them: memory, processor time, age, sockets."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LISTENING = "0A"


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, _text(task).split())
    return found


def resident(process: int | str, which: str = "VmRSS:") -> int:
    """The resident memory of a process in bytes (VmRSS:), or its peak (VmHWM:); 0 if it has ended."""
    return _kilobytes(f"/proc/{process}/status", which)


def proportional(process: int) -> int:
    """The memory of a process in bytes; what several share is divided between them. 0 if it has ended."""
    return _kilobytes(f"/proc/{process}/smaps_rollup", "Pss:")


def processor_seconds(process: int) -> float:
    """The processor time in seconds, user and system, of a process and all that descend from it.

    Time of those that have ended counts once they have been waited for.
    """
    return sum(sum(map(int, _stat(one)[11:15])) for one in family(process)) / os.sysconf("SC_CLK_TCK")


def age(process: int) -> float:
    """Seconds since a process started.

    Raises:
        ProcessLookupError: it has ended.
    """
    fields = _stat(process)
    if not fields:
        raise ProcessLookupError(process)
    return float(_text("/proc/uptime").split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def sockets(process: int) -> set[str]:
    """The names of the files that a process has open, among them those of its sockets."""
    found = set()
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                found.add(str(file.readlink()))
    return found


def listening_sockets() -> set[str]:
    """The names of all sockets on this machine that wait for connections."""
    lines = (line.split() for line in _text("/proc/net/tcp").splitlines()[1:])
    return {f"socket:[{line[9]}]" for line in lines if line[3] == _LISTENING}


def command_line(process: int | str) -> str:
    """The command line of a process; "" if it has ended."""
    return _text(f"/proc/{process}/cmdline")


def _stat(process: int) -> list[str]:
    """The fields of /proc/.../stat after the name of the program; none if the process has ended."""
    return _text(f"/proc/{process}/stat").rpartition(")")[2].split()


def _kilobytes(path: str, entry: str) -> int:
    line = next((line for line in _text(path).splitlines() if line.startswith(entry)), "")
    return int(line.split()[1]) * 1024 if line else 0


def _text(path: str | Path) -> str:
    """A file of /proc; "" if its process has ended."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
