"""Where a word came from, as figures: pictures next to the knock-outs, and source next to prefix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from transformer.analysis.attribution.pictures import CameFrom, PictureName
from transformer.analysis.attribution.source_share import SourceShare
from transformer.analysis.interventions.questions import Question
from viz.figures.came_from import source_or_prefix
from viz.figures.grids import signed_grid
from viz.figures.labels import visible
from viz.theme import Theme

NAMES: dict[PictureName, str] = {
    "norms": "norms",
    "alti": "ALTI+",
    "gradients": "gradients",
    "rollout": "rollout",
}
KNOCK_OUTS = "knock-outs"


def pictures_figure(found: CameFrom, *, theme: Theme) -> go.Figure:
    """Draw knock-outs and pictures over the words that the pictures are judged on, and those around them.

    Each is coloured up to its own largest score: they have units of their own.
    """
    stack = found.stack
    scores = np.stack([found.effects[stack], *(one.by_stack[stack] for one in found.pictures.values())])
    largest = np.abs(scores).max(axis=1, keepdims=True)
    return signed_grid(
        scores / np.where(largest > 0, largest, 1),
        [KNOCK_OUTS, *(NAMES[name] for name in found.pictures)],
        found.words[stack].labels,
        theme=theme,
        quantity="score / largest in row",
        axes=("picture", "word that is read"),
        strongest=1,
        scores=scores,
    )


def source_share_figure(
    found: SourceShare, questions: Sequence[Question], *, theme: Theme
) -> go.Figure | None:
    """Draw the share of the source in each word that is asked about; None if it is unknown."""
    if found.source is None:
        return None
    words = [visible(one.label) for one in questions]
    return source_or_prefix(found.source, found.needs_no_source_word, words, theme=theme)
