"""The app's frame imports nothing slow, and what is slow is loaded once."""

from __future__ import annotations

import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts.browser import ROOT
from tests.pages.app import open_app
from viz import warm_up

HEAVY = {"torch", "spacy", "transformer"}


def test_the_frame_is_drawn_before_anything_heavy_is_imported() -> None:
    body = ast.parse((ROOT / "app.py").read_text(encoding="utf-8")).body
    imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    code = "\n".join([*imports, "import sys", "print(*sys.modules)"])
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not HEAVY & set(run.stdout.split())


def test_many_visitors_warm_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[str] = []
    monkeypatch.setattr(warm_up, "_warm", type(warm_up._warm)())
    monkeypatch.setattr(warm_up, "prepare", lambda: prepared.append("once"))
    assert not warm_up.is_warm()
    with ThreadPoolExecutor(8) as visitors:
        list(visitors.map(lambda _: warm_up.warm_up(), range(8)))
    assert prepared == ["once"]
    assert warm_up.is_warm()


def test_a_warm_up_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise ImportError

    monkeypatch.setattr(warm_up, "_warm", type(warm_up._warm)())
    monkeypatch.setattr(warm_up, "prepare", failing)
    for _ in range(2):
        with pytest.raises(ImportError):
            warm_up.warm_up()
    assert not warm_up.is_warm()


@pytest.mark.parametrize(
    "page, computing",
    [
        ("decode", "viz.pages.decode.session.search"),
        ("lab", "viz.pages.lab.session.examine_model"),
        ("lab", "viz.pages.lab.session._broke"),
        ("checkpoint", "viz.pages.checkpoint.session.examine"),
        ("layer_norm", "viz.session.random_model"),
    ],
)
def test_the_first_visit_to_a_page_finds_its_results(
    page: str, computing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up.prepare_pages()
    computed: list[object] = []
    monkeypatch.setattr(computing, lambda *arguments: computed.append(arguments))
    assert not open_app(page, model=None).exception
    assert computed == []
