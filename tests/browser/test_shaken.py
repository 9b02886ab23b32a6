"""Changing pages at random moments of a live training run: every link works, and no page breaks."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Page

from scripts.shake import ACTIONS, Shaking

CHANGES = 200

pytestmark = pytest.mark.full


def test_pages_change_at_random_moments_of_a_live_training_run(page: Page, app_url: str, seed: int) -> None:
    """`python -m scripts.shake --seed SEED` draws the same moments and continues for an hour."""
    shaking = Shaking(page, app_url, random.Random(seed))
    for _ in range(CHANGES):
        shaking.change_page()
    assert shaking.changes == CHANGES
    assert all(shaking.done[action] for action in (*ACTIONS, "too late")), shaking.done
