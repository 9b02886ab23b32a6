"""What is shown in the viewer, saved: as a figure, or as a page that is the viewer itself."""

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
from transformer.run import Run
from viz.pages.shared.saved_file import save_button
from viz.run_figures.attention import attention_figure
from viz.session import current_model, current_theme
from viz.text_session import current_texts
from viz.theme import color_range
from viz.viewer import page
from viz.viewer.choice import Choice
from viz.viewer.viewer_run import ViewerRun

WHOLE_LAYER = ("layer", "map")
"""The views that show all heads of a layer."""


def file_name(choice: Choice) -> str:
    """Name the files of a figure."""
    by = "-by-word" if choice.by == "word" else ""
    head = "-all-heads" if choice.view in WHOLE_LAYER else f"-head{choice.head}"
    return f"{choice.attention}-attention-{choice.measure}{by}-layer{choice.layer}{head}"


def save_view(run: Run, held: ViewerRun, choice: Choice) -> None:
    """Offer the viewer as a file, with what is chosen in it: made when the button is clicked.

    Args:
        run: the run.
        held: it, as the viewer has it.
        choice: what is chosen.
    """
    source, _ = current_texts()
    heading = page.Heading(source, run.translation, current_model().name)
    save_button(
        "Save this view",
        partial(page.page, held, choice, heading),
        file_name=page.file_name(source),
        mime="text/html",
        key="save_view",
        about="One HTML file: this viewer with the numbers of this run, to open without Headlight",
    )


def figure(run: Run, choice: Choice) -> go.Figure:
    """Draw the chosen head, or all heads of its layer, as a figure."""
    maps = _maps(run, choice)
    is_moved = choice.measure == "moved"
    return attention_figure(
        maps,
        choice.attention,
        current_model().model.config,
        layer=choice.layer,
        head=None if choice.view in WHOLE_LAYER else choice.head,
        theme=current_theme(),
        is_moved=is_moved,
        value_range=None if is_moved else color_range(maps.values, signed=maps.measure != "weights"),
    )


def _maps(run: Run, choice: Choice) -> AttentionMaps:
    """The maps of the chosen layer in the chosen measure, between words where those are chosen."""
    measures: dict[str, Measure] = {"weights": "weights", "scores": "scores", "masked": "masked"}
    maps = attention_maps(
        run.trace, choice.attention, measures.get(choice.measure, "weights"), layer=choice.layer
    )
    if choice.measure == "moved":
        record = attention_record(run.trace, choice.attention, choice.layer)
        lengths = moved_lengths(current_model().model, record)
        assert lengths is not None
        maps = replace(maps, values=maps.values * lengths[None, :, None, :])
    return by_word(maps, *attention_words(run, choice.attention)) if choice.by == "word" else maps
