"""Imports run one way. They are read from the source, so lazy imports inside functions count too."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Prefixes of the modules that may import a library, or a package of ours; no others may.
_SESSIONS = ("viz.session", "viz.text_session", "viz.widgets", "viz.address", "viz.streamlit_private")
IMPORTED_BY = {
    "app": (),
    "tests": (),
    "bench": (),
    "scripts": (),
    # One command writes a page with `headlight`: the entry point of transformer passes that function down.
    "headlight": ("headlight", "transformer.__main__"),
    "viz": ("app", "headlight", "viz"),
    "transformer": (
        *("transformer", "headlight", "viz.opened_checkpoint", "viz.run_cache", "viz.warm_up"),
        *(
            "viz.pages.learn.lessons",
            "viz.pages",
            "viz.pages.step_by_step.stages",
            "viz.run_figures",
            "viz.viewer",
            *_SESSIONS,
        ),
    ),
    "streamlit": ("app", "headlight.serving.app", "viz.components", "viz.pages", "viz.warm_up", *_SESSIONS),
    "plotly": (
        "headlight.lessons",
        "headlight.plots",
        "viz.figures",
        "viz.run_figures",
        "viz.pages.learn.lessons",
        "viz.theme",
        "viz.pages",
        "viz.warm_up",
    ),
    "torch": (
        *("transformer", "headlight.serving.app", "viz.opened_checkpoint", "viz.run_cache", "viz.session"),
        *("viz.pages.lab.mistakes", "viz.pages.learn.lessons"),
    ),
    "spacy": ("transformer",),
    "anywidget": ("headlight.widget",),
    "traitlets": ("headlight.widget",),
}

# The packages of viz and transformer: each may import only from itself and from earlier lines.
VIZ_ORDER = (
    ("page_titles", "theme", "pooling", "streamlit_private", "saved_data"),
    ("address",),
    ("figures", "components", "scenes"),
    ("viewer", "markdown", "run_figures"),
    ("terms",),
    ("glossary",),
    ("opened_checkpoint", "run_cache", "turns"),
    ("session", "widgets"),
    ("text_session",),
    ("pages",),
    ("warm_up",),
)
ORDER = (
    ("errors", "device", "files", "model"),
    ("text", "experience"),
    ("loaded",),
    ("data", "decoding", "checkpoints"),
    ("model_input",),
    ("tracing",),
    ("run",),
    ("analysis",),
    ("training",),
    ("cli",),
    ("__main__",),
)


@cache
def modules() -> dict[str, Path]:
    """Every module of the program, by its dotted name."""
    packages = (ROOT / name for name in ("headlight", "transformer", "viz"))
    paths = [ROOT / "app.py", *(path for package in packages for path in package.rglob("*.py"))]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


@cache
def imported(path: Path, name: str) -> set[str]:
    """The dotted names that a module imports, relative ones resolved; `from a import b` gives a and a.b."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def is_inside(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def rank(name: str) -> int | None:
    """Rank of a module of viz or transformer in its order; None for other modules."""
    parts = name.split(".")
    order = {"viz": VIZ_ORDER, "transformer": ORDER}.get(parts[0], ())
    return next((rank for rank, group in enumerate(order) if parts[1:2] and parts[1] in group), None)


def test_imports_run_one_way() -> None:
    turned = {
        f"{name} must not import {other}"
        for name, path in modules().items()
        for library, users in IMPORTED_BY.items()
        if not any(is_inside(name, user) for user in users)
        for other in imported(path, name)
        if is_inside(other, library)
    }
    assert not turned


def graph() -> dict[str, set[str]]:
    """Each module with the modules of the program that it imports; imports in `__init__.py` don't count."""
    found = modules()
    return {
        name: {other for other in imported(path, name) if other in found and other != name}
        for name, path in found.items()
        if path.name != "__init__.py"
    }


def test_packages_are_built_in_layers() -> None:
    layered = {name: rank(name) for name in modules() if name.startswith(("transformer.", "viz."))}
    assert [name for name, own in layered.items() if own is None] == [], "give each a place in the order"
    wrong = {
        f"{name} must not import {other}"
        for name, own in layered.items()
        for other in imported(modules()[name], name)
        if (theirs := rank(other)) is not None and own is not None
        if other.split(".")[0] == name.split(".")[0] and other.split(".")[1] != name.split(".")[1]
        if theirs >= own
    }
    assert not wrong


def test_no_modules_import_each_other() -> None:
    TopologicalSorter(graph()).prepare()  # raises CycleError, which names the cycle


def test_no_packages_import_each_other() -> None:
    packages: dict[str, set[str]] = {}
    for name, others in graph().items():
        own, theirs = package_of(name), {package_of(other) for other in others}
        packages.setdefault(own, set()).update(
            other for other in theirs if not is_inside(other, own) and not is_inside(own, other)
        )
    TopologicalSorter(packages).prepare()


def package_of(name: str) -> str:
    """The package of a module; a module at the top of viz, transformer or headlight is its own package."""
    return name if name.count(".") == 1 else name.rpartition(".")[0]


def test_what_is_private_is_imported_in_its_own_package_only() -> None:
    strangers = {
        f"{name} imports {other}"
        for name, path in modules().items()
        for other in imported(path, name)
        if any(is_strange(part, other, name) for part in other.split("."))
    }
    assert not strangers


def is_strange(part: str, other: str, name: str) -> bool:
    """True if a part of an imported name is private and its owner does not contain the importing module."""
    if not part.startswith("_") or part.startswith("__"):
        return False
    owner = other[: other.index(f".{part}")]
    return owner.split(".")[0] in ("viz", "transformer", "app") and not is_inside(name, owner)


def test_all_is_there_where_python_lacks_what_only_unix_has() -> None:
    """As on Windows, which lacks the standard library's Unix modules."""
    names = sorted(name for name in modules() if not name.startswith(("app", "viz.pages")))
    code = (
        "import importlib, sys\n"
        "sys.modules |= dict.fromkeys(('fcntl', 'resource', 'pwd', 'grp', 'termios'))\n"
        f"for name in {names}: importlib.import_module(name)\n"
        "from transformer.checkpoints.reading.limits import limit_process\n"
        "limit_process({'AS': 1})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_turned_arrow_is_found(tmp_path: Path) -> None:
    source = "from . import x\nfrom ..session import run\ndef f() -> None:\n    import torch.nn\n"
    path = tmp_path / "page.py"
    path.write_text(source, encoding="utf-8")
    assert imported(path, "viz.pages.page") == {
        "viz.pages", "viz.pages.x", "viz.session", "viz.session.run", "torch.nn",
    }  # fmt: skip
