"""How well scores separate two groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Probability that a positive case scores above a negative one; ties count half (Hanley, McNeil 1982)."""
    differences = np.asarray(positive)[:, None] - np.asarray(negative)[None]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)
