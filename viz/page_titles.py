"""What the pages are called: known before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "explore": "Explore",
    "learn": "Learn",
    "lab": "Lab",
    "decode": "Decode",
    "training": "Training",
    "positions": "Positions",
    "masks": "Masks",
    "layer-norm": "Layer norm",
    "checkpoint": "Checkpoint",
}
"""The pages that show a model, by their paths, in the order of the navigation."""
