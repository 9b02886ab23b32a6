"""Without node the views' scripts are not checked, and a sentence says so; in CI that is a failure."""

from __future__ import annotations

import json

import pytest

from scripts import node


@pytest.mark.parametrize("ci,status", [("", 0), ("true", 1)])
def test_without_node_only_ci_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, status: int
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)
    with pytest.raises(SystemExit) as ended:
        node.main()
    assert ended.value.code == status
    assert "not checked" in capsys.readouterr().out


def test_the_tools_are_pinned_and_needed_for_development_only() -> None:
    """The running app needs none of them."""
    settings = json.loads((node.ROOT / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in settings
    assert all(version[0].isdigit() for version in settings["devDependencies"].values())
