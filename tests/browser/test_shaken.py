"""Pages changed at random moments of a live training run: every link leads to its page, and none breaks."""

from __future__ import annotations

import logging
import random
import secrets

from playwright.sync_api import Page

from scripts.shake import ACTIONS, Shaking

CHANGES = 200


def test_pages_change_at_random_moments_of_a_live_training_run(page: Page, app_url: str) -> None:
    seed = secrets.randbits(32)
    logging.warning("seed %d: `python -m scripts.shake --seed %d` has the same moments", seed, seed)
    shaking = Shaking(page, app_url, random.Random(seed))
    for _ in range(CHANGES):
        shaking.change_page()
    assert shaking.changes == CHANGES
    assert all(shaking.done[action] for action in (*ACTIONS, "too late")), shaking.done
