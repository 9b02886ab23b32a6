"""The titles of the pages, without any slow import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

PAGES = Path(__file__).parent / "pages"
"""One folder per page, named like its path with underscores, with a `page.py`."""
PURPOSE = "See what happens inside a Transformer"
"""The product's purpose, on every page."""
TITLES: Mapping[str, str] = {
    "explore": "Explore",
    "step-by-step": "Step by step",
    "decode": "Decode",
    "why": "Why",
    "positions": "Positions",
    "masks": "Masks",
    "layer-norm": "Layer norm",
    "learn": "Learn",
    "lab": "Lab",
    "training": "Training",
    "checkpoint": "Checkpoint",
    "heads": "Heads",
}
"""The pages that show a model, by path, in the order of the navigation."""
SCENES, SCENES_TITLE = "scenes", "Scenes"
GROUPS: Mapping[str, Sequence[str]] = {
    "Look": ("explore", "step-by-step", "decode", "why", "positions", "masks", "layer-norm"),
    "Learn": ("learn", "lab", SCENES),
    "Check": ("checkpoint", "heads", "training"),
}
"""The groups of the navigation, each with the paths of its pages."""
