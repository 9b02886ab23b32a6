"""Where a word came from: pictures next to the knock-outs, and source next to prefix."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.runs import Run
from transformer.analysis.attribution.attention_parts import UntransposedError
from transformer.analysis.attribution.pictures import came_from
from transformer.analysis.attribution.source_share import source_share
from transformer.analysis.interventions.knock_outs import KnockOut
from transformer.analysis.interventions.questions import NEXT_BEST, asked_question, word_questions
from viz.run_figures.came_from import pictures_figure, source_share_figure
from viz.theme import ThemeName, palette


def plot_pictures(
    run: Run,
    word: str | int = "",
    *,
    rival: str = NEXT_BEST,
    how: KnockOut = "unknown",
    theme: ThemeName = "light",
) -> go.Figure:
    """What each word that is read counts for a word of the output, by knock-outs and by four pictures.

    Args:
        run, word, rival: as in `headlight.why`.
        how: how words are taken away: "unknown", "mean" or "masked".
        theme: "light" or "dark".
    """
    question = asked_question(run.model, run.computed, word, rival)
    return pictures_figure(came_from(run.model, run.computed, question, how=how), theme=palette(theme))


def plot_source_share(run: Run, *, theme: ThemeName = "light") -> go.Figure:
    """How much of each output word came from the source, and which words rest on the prefix alone.

    Raises:
        ValueError: the model has no generator, no decoder, or heads that can't be told apart.
    """
    questions = word_questions(run.model, run.computed)
    if not questions:
        raise ValueError("This model has no generator: it writes no words.")
    share = source_share(run.model, run.computed, questions)
    figure = source_share_figure(share, questions, theme=palette(theme))
    if figure is None:
        raise UntransposedError
    return figure
