"""The options of `headlight serve`."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from headlight.serving.fork_server import ForkServer
from headlight.serving.proxy import CONFIGURATION, Proxy
from headlight.serving.supervisor import Supervisor, say, temporary_folder
from headlight.serving.workers import Slot

DESCRIPTION = """\
Serve the app to many people: several processes on this machine, with HAProxy in front of them.
A visitor stays in one process, and one that dies is restarted. SIGHUP loads the code again and
replaces the processes one after another. Further options are those of `streamlit run`.
docs/serving.md has more: a password, https, several machines."""
_LOOPBACK, _EVERY_ADDRESS = "127.0.0.1", ("0.0.0.0", "::")
_WORKERS = "HEADLIGHT_WORKERS"
_COOKIE_SECRET = "STREAMLIT_SERVER_COOKIE_SECRET"


def serve(arguments: Sequence[str]) -> int:
    """Run `headlight serve` and return the exit status."""
    if sys.platform != "linux":
        print(
            "headlight serve needs Linux. On this system start `headlight --server.port PORT` several times, "
            f"and HAProxy with {CONFIGURATION}.",
            file=sys.stderr,
        )
        return 1
    cores = len(os.sched_getaffinity(0))
    options, others = _parser(cores).parse_known_args(arguments)
    # All workers must sign cookies alike; those of other machines too, if this is set there.
    os.environ.setdefault(_COOKIE_SECRET, secrets.token_hex(32))
    os.environ[_WORKERS] = str(options.workers)
    n_threads = int(os.environ.get("OMP_NUM_THREADS") or max(1, cores // options.workers))
    bind = f"{options.address}:{options.port}"
    try:
        with temporary_folder() as folder:
            ports = list(islice(_free_ports(options.port + 1), options.workers + 1))
            slots = [
                Slot(f"w{number}", port, folder / f"w{number}", is_wanted=number < options.workers)
                for number, port in enumerate(ports)
            ]
            proxy = Proxy(folder, options.proxy, {slot.name: slot.port for slot in slots}, bind)
            scheme = "https" if "HEADLIGHT_CERTIFICATE" in os.environ else "http"
            say(f"Headlight will be at {scheme}://{bind} (workers: {options.workers}).")
            streamlit = _streamlit_options(options.address, others)
            Supervisor(
                proxy, slots, lambda number: ForkServer(streamlit, n_threads, folder / f"shared{number}")
            ).run()
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser(cores: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "headlight serve",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # other options are Streamlit's
    )
    parser.add_argument("--workers", type=_count, default=cores, help="number of processes (one per core)")
    parser.add_argument("--address", default=_LOOPBACK, help=f"address for visitors ({_LOOPBACK})")
    parser.add_argument("--port", type=int, default=8501, help="port for visitors (8501)")
    parser.add_argument(
        "--proxy",
        type=Path,
        default=CONFIGURATION,
        metavar="FILE",
        help=f"configuration of HAProxy, in place of {CONFIGURATION}",
    )
    return parser


def _count(typed: str) -> int:
    if not typed.isdecimal() or not int(typed):
        raise argparse.ArgumentTypeError(f"{typed!r} is not a number of processes: type 1 or more.")
    return int(typed)


def _streamlit_options(address: str, others: Sequence[str]) -> list[str]:
    """What Streamlit is told in every worker; `others` come last, and their hosts are allowed too."""
    options = ["--server.address", _LOOPBACK, "--server.headless", "true"]
    # The address for visitors: pages offer less to the network than to this machine.
    options += ["--browser.serverAddress", address, "--logger.hideWelcomeMessage", "true"]
    hosts = [_LOOPBACK, "localhost", *([] if address in (_LOOPBACK, *_EVERY_ADDRESS) else [address])]
    return [*options, *(part for host in hosts for part in ("--server.allowedHosts", host)), *others]


def _free_ports(first: int) -> Iterator[int]:
    """The free ports of the loopback address that a user may listen on, ascending."""
    for port in count(max(first, 1024)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
        yield port
