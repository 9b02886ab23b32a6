"""Changing pages at random moments of a live training run: every link works, and no page breaks."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Page

from scripts.shake import ACTIONS, PAGES, Shaking, errors_of

CHANGES = 200


@pytest.mark.full
def test_pages_change_at_random_moments_of_a_live_training_run(page: Page, app_url: str, seed: int) -> None:
    """`python -m scripts.shake --seed SEED` draws the same moments and continues for an hour."""
    shaking = Shaking(page, app_url, random.Random(seed))
    for _ in range(CHANGES):
        shaking.change_page()
    assert shaking.changes == CHANGES
    assert all(shaking.done[action] for action in (*ACTIONS, "too late", *PAGES)), shaking.done


def test_what_a_browser_reports_ends_the_shaking(page: Page) -> None:
    """An error on the console and an exception count; a warning does not."""
    with page.context.new_page() as shaken:
        errors = errors_of(shaken)
        shaken.set_content("<script>console.error('from the console'); console.warn('a warning')</script>")
        shaken.set_content("<script>throw new Error('from a script')</script>")
        shaken.wait_for_timeout(0)
        assert [error.split(" (")[0] for error in errors] == ["from the console", "from a script"]
