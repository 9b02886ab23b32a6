"""requirements.txt pins what the program imports: all of it, and nothing else."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)==\S+ +# \S", re.MULTILINE)
OWN = {"app", "headlight", "transformer", "viz"}


REQUIREMENTS = sorted(path.name for path in ROOT.glob("requirements*.txt"))


def pinned(name: str) -> list[str]:
    """The distributions pinned in a file, including repeated ones."""
    found = PIN.finditer((ROOT / name).read_text(encoding="utf-8"))
    return sorted(re.sub(r"[-_.]+", "-", match["name"].lower()) for match in found)


def imported() -> set[str]:
    """The distributions that the program imports."""
    modules: set[str] = set()
    packages = (ROOT / name for name in OWN)
    for path in (ROOT / "app.py", *(path for package in packages for path in package.rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    foreign = modules - OWN - sys.stdlib_module_names
    return {distributions[module][0].lower() for module in foreign}


def test_what_is_imported_is_pinned() -> None:
    assert imported() == set(pinned("requirements.txt"))


def test_nothing_is_pinned_twice() -> None:
    """Not in two of the files either: each includes those before it."""
    everything = Counter(pin for name in REQUIREMENTS for pin in pinned(name))
    assert [pin for pin, times in everything.items() if times > 1] == []


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_line_is_a_pin_with_a_reason(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(("#", "-r ")) or PIN.match(line) for line in lines if line)
