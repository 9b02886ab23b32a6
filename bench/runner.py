"""Runs parts of the benchmark: each prints its table and saves its rows once they are ready."""

from __future__ import annotations

import json
import os
import platform
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from bench.setting import Setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PARTS = (
    "inspecting",
    "opening",
    "recording",
    "computing",
    "interventions",
    "decoding",
    "training",
    "first_page",
    "crowd",
    "app",
    "notebook",
)
"""Modules of bench.parts, in the order in which they run."""
_PACKAGES = ("streamlit", "plotly", "torch", "transformers", "bertviz", "playwright")


class Part(Protocol):
    """A module of bench.parts; the first line of its docstring is the title of its table."""

    def measure(self, setting: Setting, /) -> Sequence[DataclassInstance]:
        """Measure everything; the fields of a row are the columns of the table."""


def load(name: str) -> Part:
    """Import a part, and only what it needs."""
    return cast(Part, import_module(f"bench.parts.{name}"))


def run(names: Iterable[str], setting: Setting, results: Path) -> list[str]:
    """Measure parts; one that fails prints its error, and the others continue.

    Args:
        results: a JSON file; the results of other parts in it are kept.

    Returns:
        The names of the parts that failed.
    """
    failed = []
    for name in names:
        print(f"{name} ...", flush=True)
        try:
            part = load(name)
            rows = part.measure(setting)
            save(results, name, rows)
            print(f"\n{table((part.__doc__ or name).splitlines()[0].rstrip('.'), rows)}\n", flush=True)
        except Exception as error:
            traceback.print_exc()
            print(f"\n{name} failed: {type(error).__name__}: {error}\n", flush=True)
            failed.append(name)
    return failed


def save(path: Path, name: str, rows: Sequence[DataclassInstance]) -> None:
    """Save a part's rows in a JSON file, in seconds and bytes, with the date and the machine."""
    saved = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    saved[name] = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {package: _version(package) for package in _PACKAGES},
        "rows": [asdict(row) for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")


def table(title: str, rows: Sequence[DataclassInstance]) -> str:
    """Lay out rows in columns named after their fields, right-aligned, under a title."""
    names = [field.name for field in fields(rows[0])]
    texts = [[name.replace("_", " ").replace("d model", "d_model") for name in names]]
    texts += [[_cell(getattr(row, name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in texts]
    return "\n".join([title, "-" * len(title), *lines])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if type(value) is float else str(value)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
