"""The titles of the pages, without any slow import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PAGES = Path(__file__).parent / "pages"
"""One folder per page, named like its path with underscores, with a `page.py`."""
TITLES: Mapping[str, str] = {
    "explore": "Explore",
    "learn": "Learn",
    "step-by-step": "Step by step",
    "lab": "Lab",
    "decode": "Decode",
    "training": "Training",
    "positions": "Positions",
    "masks": "Masks",
    "layer-norm": "Layer norm",
    "checkpoint": "Checkpoint",
}
"""The pages that show a model, by path, in the order of the navigation."""
