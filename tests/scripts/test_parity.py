"""The table of layouts in docs/checkpoints.md has them all, each with its figures."""

from __future__ import annotations

import re

import pytest

from scripts.parity import BEGIN, END, FOREIGN, PAGE, collect, with_table
from transformer.checkpoints.importing.family import Family

ROW = re.compile(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows() -> dict[str, tuple[str, ...]]:
    """Label -> what is asked, and the two errors, as the page has them."""
    return {label: tuple(cells) for label, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("family", FOREIGN, ids=lambda family: family.name)
def test_every_layout_has_its_figures(family: Family, rows: dict[str, tuple[str, ...]]) -> None:
    assert family.label in rows, "run `make parity`"
    _, *errors = rows[family.label]
    assert all(float(error) <= 1e-5 for error in errors), (family.label, errors)


def test_no_layout_stands_there_that_is_gone(rows: dict[str, tuple[str, ...]]) -> None:
    assert set(rows) - {family.label for family in FOREIGN} == {"Layout", "---"}, "run `make parity`"


def test_the_worst_error_of_each_kind_counts() -> None:
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
