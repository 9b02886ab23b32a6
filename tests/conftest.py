"""Settings for all tests: one PyTorch thread a process, the browser's tests in one process, hypothesis."""

import os

# Before torch is imported: the tests run in as many processes as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")


class BrowserTogether(LoadScopeScheduling):
    """One process has all tests that need a browser, with one browser and one server."""

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith("tests/browser/") else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BrowserTogether:
    """Take it for every run with several processes."""
    return BrowserTogether(config, log)
