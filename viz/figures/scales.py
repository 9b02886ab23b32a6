"""The colour scale that all pictures of an attention share, so that one number has one colour."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

FAINT = 0.5
"""Weights that all stay below it would be pale on a scale up to 1: theirs ends sooner."""


def color_range(values: NDArray[np.floating], *, signed: bool) -> tuple[float, float]:
    """Choose the ends of the scale for all the values that are looked at together.

    Weights are coloured from 0 to 1. Where none reaches FAINT, as in a long sentence, the scale ends at the
    largest one, rounded up to a tenth. Scores (`signed`) reach equally far to both sides of 0.
    """
    strongest = float(np.abs(values, where=np.isfinite(values), out=np.zeros(values.shape)).max(initial=0))
    if signed:
        return (-strongest, strongest) if strongest else (-1.0, 1.0)
    faint = 0 < strongest < FAINT
    return 0.0, ceil(strongest * 10 - 1e-6) / 10 if faint else 1.0
