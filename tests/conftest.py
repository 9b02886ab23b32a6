"""Settings for all tests: one PyTorch thread a process, the same hypothesis examples in every CI run."""

import os

# Before torch is imported: the tests run in as many processes as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")
