"""`make bench`: all parts of the benchmark take about 25 minutes; PARTS=app,crowd runs some of them."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, datetime

from bench.runner import PARTS, run
from bench.setting import Setting
from scripts.browser import ROOT

RESULTS = ROOT / "build" / "bench.json"


def main(arguments: list[str] | None = None) -> int:
    """Run the requested parts; return 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="?", default="", help=f"some of {','.join(PARTS)}; all if left out")
    names = [name for name in parser.parse_args(arguments).parts.split(",") if name] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}. The parts are {', '.join(PARTS)}.")
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, {platform.platform()}\n")
    with Setting() as setting:
        failed = run(names, setting, RESULTS)
    print(f"Results: {RESULTS.relative_to(ROOT)}")
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
