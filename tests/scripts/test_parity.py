"""The table in docs/checkpoints.md lists every layout with its errors."""

from __future__ import annotations

import re

import pytest

from scripts.parity import BEGIN, END, FOREIGN, PAGE, collect, with_table

ROW = re.compile(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows() -> dict[str, tuple[str, ...]]:
    """Label -> the questions and the two errors in the page's table."""
    return {label: tuple(cells) for label, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_table_has_every_layout_and_no_other(rows: dict[str, tuple[str, ...]]) -> None:
    assert rows.keys() == {family.label for family in FOREIGN} | {"Layout", "---"}, "run `make parity`"
    for family in FOREIGN:
        _, *errors = rows[family.label]
        assert all(float(error) <= 1e-5 for error in errors), (family.label, errors)


def test_the_table_shows_the_largest_error_of_each_kind() -> None:
    lines: list[dict[str, object]] = [
        {"family": "t5", "asked": ["activation"]},
        {"family": "t5", "kind": "attention", "error": 2e-6},
        {"family": "t5", "kind": "attention", "error": 8e-6},
        {"family": "t5", "kind": "logits", "error": 1e-6},
        {"family": "t5", "asked": ["norm_eps", "activation"]},
    ]
    page = with_table(f"before\n{BEGIN}old\n{END}after\n", collect(lines), "2017-06-12")
    assert "| T5 | activation, norm_eps | 1.0e-06 | 8.0e-06 |\n" in page
    assert page.startswith(f"before\n{BEGIN}Measured on 2017-06-12.")
    assert page.endswith(f"{END}after\n")
    assert "old" not in page
