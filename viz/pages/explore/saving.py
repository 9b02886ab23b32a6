"""The viewer's picture as a file: a figure, or an HTML page that contains the viewer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import plotly.graph_objects as go

from transformer.analysis.attention_maps import (
    AttentionMaps,
    Measure,
    attention_maps,
    attention_record,
    attention_words,
    by_word,
)
from transformer.analysis.moved import moved_lengths
from viz.pages.shared.saved_file import save_button
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.attention import attention_figure
from viz.theme import color_range
from viz.viewer import page
from viz.viewer.choice import Choice
from viz.viewer.viewer_run import ViewerRun

WHOLE_LAYER = ("layer", "map")
"""Views that show all heads of a layer."""


def file_name(choice: Choice) -> str:
    """The name of a figure's files, without extension."""
    by = "-by-word" if choice.by == "word" else ""
    head = "-all-heads" if choice.view in WHOLE_LAYER else f"-head{choice.head}"
    return f"{choice.attention}-attention-{choice.measure}{by}-layer{choice.layer}{head}"


def save_view(sentence: SentenceRun, viewed: ViewerRun, choice: Choice) -> None:
    """Offer the viewer with its current choice as a file, made when the button is clicked.

    Args:
        sentence: the sentence and its run.
        viewed: the same run, prepared for the viewer.
        choice: the viewer's current choice.
    """
    heading = page.Heading(sentence.text, sentence.run.translation, sentence.loaded.name)
    save_button(
        "Save this view",
        partial(page.page, viewed, choice, heading),
        file_name=page.file_name(sentence.text),
        mime="text/html",
        key="save_view",
        about="One HTML file with this viewer and the numbers of this run; it opens without Headlight",
    )


def figure(sentence: SentenceRun, choice: Choice) -> go.Figure:
    """Draw the chosen head, or all heads of its layer, as a figure."""
    maps = _maps(sentence, choice)
    is_moved = choice.measure == "moved"
    return attention_figure(
        maps,
        choice.attention,
        sentence.config,
        layer=choice.layer,
        head=None if choice.view in WHOLE_LAYER else choice.head,
        theme=sentence.theme,
        is_moved=is_moved,
        value_range=None if is_moved else color_range(maps.values, signed=maps.measure != "weights"),
    )


def _maps(sentence: SentenceRun, choice: Choice) -> AttentionMaps:
    """The maps of the chosen layer and measure, per token or per word."""
    run = sentence.run
    measures: dict[str, Measure] = {"weights": "weights", "scores": "scores", "masked": "masked"}
    maps = attention_maps(
        run.trace, choice.attention, measures.get(choice.measure, "weights"), layer=choice.layer
    )
    if choice.measure == "moved":
        record = attention_record(run.trace, choice.attention, choice.layer)
        lengths = moved_lengths(sentence.loaded.model, record)
        assert lengths is not None
        maps = replace(maps, values=maps.values * lengths[None, :, None, :])
    return by_word(maps, *attention_words(run, choice.attention)) if choice.by == "word" else maps
