"""Numbers as people read them: one minus sign (−, U+2212) everywhere, and never a minus before a zero.

plotly and Python write a hyphen, which is shorter than the minus of formulas and axes beside it. Files to
calculate with (CSV, JSON) keep the hyphen: programs read it.
"""

import numpy as np
from numpy.typing import NDArray

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many decimals. KaTeX reads this minus sign as its own, so it suits formulas."""
    text = f"{value:.{digits}f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def span(values: NDArray[np.floating], digits: int = 2) -> str:
    """Write what the values span: "0.71 to 0.78", or one number where all are written the same."""
    low, high = number(float(values.min()), digits), number(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def written(values: NDArray[np.floating], digits: int = 4) -> NDArray[np.object_]:
    """Write an array of any shape, number by number, for the text of a figure."""
    texts = np.empty(values.shape, dtype=object)
    texts.flat = [number(float(value), digits) for value in values.flat]
    return texts


