"""The pages with a model of any kind, in tests: `usefixtures("kinds")` lets the picker offer the models."""

from __future__ import annotations

import re

from streamlit.testing.v1 import AppTest

from tests.pages.app import open_app
from tests.pages.offered import TEXT
from tests.support.kinds import KINDS
from transformer.run import Run, run_sentence

NUMBER = r"(-?[\d.]+)"


def opened(kind: str, page_name: str = "explore", **address: str) -> AppTest:
    app = open_app(page_name, model=kind, **{"text": TEXT} | address)
    assert not app.exception
    assert not app.warning
    return app


def formulas(app: AppTest) -> list[str]:
    return [element.value.strip("$\n").replace("−", "-") for element in app.latex]


def run_of(kind: str, text: str = TEXT) -> Run:
    return run_sentence(KINDS[kind](), text)


def total(terms: str) -> float:
    """The sum of numbers such as 1.5 - (-2.5) + 3; 0 if there are none."""
    signed = re.findall(rf"([+-]?) ?\(?{NUMBER}\)?", terms)
    return sum(-float(number) if sign == "-" else float(number) for sign, number in signed)
