"""Pages changed at random moments of a live training run: every link leads to its page, and none breaks."""

from __future__ import annotations

import logging
import random
import secrets
from collections import Counter

from playwright.sync_api import Page

from scripts.shake import PAGES, change_page, start_training

CHANGES = 200


def test_pages_change_at_random_moments_of_a_live_training_run(page: Page, app_url: str) -> None:
    seed = secrets.randbits(32)
    logging.warning("seed %d: `python -m scripts.shake --seed %d` has the same moments", seed, seed)
    start_training(page, app_url)
    rng, done = random.Random(seed), Counter[str]()
    for _ in range(CHANGES):
        done += change_page(page, rng)
    assert sum(done[title] for title in PAGES) == CHANGES
    assert done["Pause"], done
    assert done["Go on"], done
    assert done["Stop and clear"], done
    assert done["too late"], done
