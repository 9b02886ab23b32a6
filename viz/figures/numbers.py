"""Numbers as people read them: one minus sign (−, U+2212) everywhere, and never a minus before a zero.

Python writes a hyphen, which is shorter than the minus of formulas and axes beside it, and so does plotly
where a format stands in a template (`%{y:.4f}`): give it as `yhoverformat`, or write the number here. Files
to calculate with (CSV, JSON) keep the hyphen: programs read it.
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


def in_sum(value: float) -> str:
    """A number after a sign of addition, subtraction or multiplication: in brackets where it is negative."""
    text = number(value)
    return f"({text})" if text.startswith(MINUS) else text


def span(values: NDArray[np.floating], digits: int = 2) -> str:
    """Write what the values span: "0.71 to 0.78", or one number where all are written the same."""
    low, high = number(float(values.min()), digits), number(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def written(values: NDArray[np.floating], digits: int = 4) -> NDArray[np.object_]:
    """Write an array of any shape, number by number, for the text of a figure."""
    texts = np.char.mod(f"%.{digits}f", values.astype(np.float64))
    is_zero = np.char.strip(texts, "-0.") == ""
    texts = np.where(is_zero, np.char.lstrip(texts, "-"), texts)
    return np.char.replace(texts, "-", MINUS).astype(object)
