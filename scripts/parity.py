"""Measure every family against its original and write the table in docs/checkpoints.md: `make parity`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transformer.checkpoints.importing.families import families
from transformer.checkpoints.importing.layout.shipped import layout, names

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "checkpoints.md"
TESTS = "tests/transformer/checkpoints/importing/families"
BEGIN, END = "<!-- made by `make parity`: begin -->\n", "<!-- made by `make parity`: end -->\n"
_HEAD = "| Layout | What is asked | Logits, hidden states | Attention |\n| --- | --- | --- | --- |\n"


def _is_always_refused(name: str) -> bool:
    return name in names() and any(not when for when, _ in layout(name).refuse)


FOREIGN = tuple(family for family in families() if family.renames and not _is_always_refused(family.name))
"""All families except our own, which opens bit for bit, and those that are always refused."""


@dataclass
class Measured:
    """Results of one family's tests.

    Attributes:
        asked: the names of all questions asked in any test, in order.
        errors: the largest error of "logits" (which include hidden states) and of "attention", relative to
            the largest value.
    """

    asked: dict[str, None] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)


def main() -> int:
    """Run the families' tests, then write the table; return the tests' exit status."""
    with tempfile.TemporaryDirectory(prefix="headlight-parity-") as folder:
        file = Path(folder) / "figures.jsonl"
        environment = os.environ | {"PARITY_FIGURES": str(file)}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", TESTS]
        status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if status:
            return status
        measured = collect(map(json.loads, file.read_text(encoding="utf-8").splitlines()))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_table(page, measured, datetime.now(UTC).date().isoformat()), encoding="utf-8")
    return 0


def collect(lines: Iterable[Mapping[str, Any]]) -> dict[str, Measured]:
    """Collect the largest errors by family."""
    found: dict[str, Measured] = {}
    for line in lines:
        measured = found.setdefault(line["family"], Measured())
        measured.asked |= dict.fromkeys(line.get("asked", ()))
        if "error" in line:
            kind = line["kind"]
            measured.errors[kind] = max(line["error"], measured.errors.get(kind, 0.0))
    return found


def with_table(page: str, measured: Mapping[str, Measured], date: str) -> str:
    """The page with its table of families replaced."""
    rows = "".join(_row(family.label, measured.get(family.name, Measured())) for family in FOREIGN)
    return re.sub(
        f"{re.escape(BEGIN)}.*{re.escape(END)}",
        lambda _: f"{BEGIN}Measured on {date}.\n\n{_HEAD}{rows}{END}",
        page,
        flags=re.DOTALL,
    )


def _row(label: str, measured: Measured) -> str:
    asked = ", ".join(measured.asked) or "nothing"
    errors = " | ".join(_shown(measured.errors.get(kind)) for kind in ("logits", "attention"))
    return f"| {label} | {asked} | {errors} |\n"


def _shown(error: float | None) -> str:
    return "not compared" if error is None else f"{error:.1e}" if error else "the same numbers"


if __name__ == "__main__":
    sys.exit(main())
