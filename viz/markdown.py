"""Users' text and tables in our own Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viz.figures.labels import MAX_LABEL, visible

_TICKS = re.compile("`+")


def quoted(text: str, limit: int = MAX_LABEL) -> str:
    """Quote a token or sentence in Markdown, as a code span in which no character has a special meaning."""
    shown = visible(text, limit)
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(shown)), default=0))
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown: the first column is text, the others are numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    # A bar separates cells even within a code span.
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
