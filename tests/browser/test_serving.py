"""Two visitors of `headlight serve`, when the worker of one of them is killed."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from headlight.serving.proxy import find_haproxy
from scripts.browser import ROOT, server_process
from tests.browser.conftest import OpenPage
from tests.browser.headlight import (
    expect_sentence,
    page_link,
    sentence_box,
    settle,
    type_sentence,
    visit,
    wait_for,
)
from tests.browser.test_checkpoint import choose, own_model, upload
from tests.support.checkpoints import torch_file
from tests.support.missing import missing


def worker_of(page: Page) -> str:
    """Name of the worker that this visitor stays with."""
    return next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "headlight")


def processes_of(supervisor: int) -> dict[str, int]:
    """Name of each child of the supervisor -> its process id."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return {Path(f"/proc/{child}/comm").read_text().strip(): int(child) for child in children}


def memory_of(pid: int) -> dict[str, int]:
    """The kinds of memory of a process, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}


def workers_up(url: str) -> set[str]:
    """Names of the workers that take new visitors."""
    names = set()
    for _ in range(4):
        with urlopen(f"{url}/_stcore/health", timeout=60) as answer:
            cookies = answer.headers.get_all("Set-Cookie", [])
        names |= {cookie.partition(";")[0] for cookie in cookies if cookie.startswith("headlight=")}
    return names


@pytest.mark.slow
def test_the_address_brings_the_page_back_when_a_worker_is_killed(
    open_page: OpenPage, tmp_path: Path
) -> None:
    if find_haproxy() is None:
        missing("no HAProxy: install it (Debian and Ubuntu: apt-get install haproxy)")
    with server_process(ROOT / "app.py", workers=2) as (url, supervisor):
        wait_for(lambda: len(workers_up(url)) == 2, "the second worker takes no visitors")
        mine, others = open_page(), open_page()
        for page in (mine, others):
            visit(page, url)
        mine_is, others_is = worker_of(mine), worker_of(others)
        assert mine_is != others_is

        choose(mine, url, "Upload")
        upload(mine, torch_file(tmp_path / "own.pt"))
        expect(own_model(mine)).to_be_visible()
        folders = f"headlight-serve-{supervisor}-*/{mine_is}/headlight-*"
        assert list(Path(tempfile.gettempdir()).glob(folders))
        page_link(mine, "Explore").click()
        settle(mine)
        type_sentence(mine, "The cat sleeps.")
        expect_sentence(mine, "Thecatsleeps.")
        type_sentence(others, "A dog runs.")
        expect_sentence(others, "Adogruns.")

        processes = processes_of(supervisor)
        workers = {pid for name, pid in processes.items() if name.startswith("headlight")}
        (fork_server,) = set(processes.values()) - workers - {processes["haproxy"]}
        assert len(list(Path(f"/proc/{fork_server}/task").iterdir())) == 1, "forks of threads may hang"
        for memory in map(memory_of, workers):
            assert memory["Private_Dirty"] < memory["Rss"] / 2, "libraries and weights are not shared"

        with mine.expect_websocket():
            os.kill(processes[f"headlight {mine_is}"], signal.SIGKILL)
        settle(mine)
        expect(sentence_box(mine)).to_have_value("The cat sleeps.")
        expect_sentence(mine, "Thecatsleeps.")
        assert not list(Path(tempfile.gettempdir()).glob(folders))
        type_sentence(mine, "The dog sleeps.")
        expect_sentence(mine, "Thedogsleeps.")

        type_sentence(others, "A cat runs.")
        expect_sentence(others, "Acatruns.")
        assert worker_of(others) == others_is
