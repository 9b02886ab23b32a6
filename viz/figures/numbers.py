"""Numbers for readers: always with a minus sign (−, U+2212), and no minus before a zero.

Python writes a hyphen, which is shorter than the minus of formulas and axes. So does plotly for a format in a
template (`%{y:.4f}`): use `yhoverformat` instead, or format the number here. Files for programs (CSV, JSON)
keep the hyphen.
"""

import numpy as np
from numpy.typing import NDArray

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 3) -> str:
    """Write a number with this many decimals. KaTeX accepts this minus sign in formulas."""
    text = f"{value:.{digits}f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def in_sum(value: float) -> str:
    """Write a number as an operand, in brackets if it is negative."""
    text = number(value)
    return f"({text})" if text.startswith(MINUS) else text


def span(values: NDArray[np.floating], digits: int = 2) -> str:
    """Write a range of values: "0.71 to 0.78", or one number if both ends read the same."""
    low, high = number(float(values.min()), digits), number(float(values.max()), digits)
    return low if low == high else f"{low} to {high}"


def written(values: NDArray[np.floating], digits: int = 4) -> NDArray[np.object_]:
    """Write every number in an array of any shape, for the text of a figure."""
    texts = np.char.mod(f"%.{digits}f", values.astype(np.float64))
    is_zero = np.char.strip(texts, "-0.") == ""
    texts = np.where(is_zero, np.char.lstrip(texts, "-"), texts)
    return np.char.replace(texts, "-", MINUS).astype(object)
