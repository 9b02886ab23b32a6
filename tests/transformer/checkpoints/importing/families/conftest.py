"""Each test's figures belong to the model that it imported."""

from __future__ import annotations

import pytest

from tests.transformer.checkpoints.importing.families.figures import FIGURES


@pytest.fixture(autouse=True)
def no_family_of_another_test() -> None:
    FIGURES.forget()
