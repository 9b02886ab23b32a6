"""Patching: parts of the run of another sentence put into this one's, and the other way round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.interventions.edited_model import edited_model, rewritten
from transformer.analysis.interventions.knock_outs import input_stack
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.interventions.patch_places import Place, places
from transformer.analysis.interventions.patching import (
    Direction,
    Pair,
    PatchGrid,
    answer_of,
    patch_grid,
    patch_of,
    vectors_at,
)
from transformer.analysis.interventions.questions import NEXT_BEST
from transformer.run import run_again
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.shared.changed_words import marked, show_both
from viz.pages.shared.clickable import pick_point
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import wide
from viz.pages.why.asked import Asked
from viz.pages.why.other_sentence import other_run, other_sentence, pick_pair
from viz.pages.why.receipt import save_receipt
from viz.run_figures.interventions import patch_columns, patch_figure
from viz.widgets import follow_default, in_a_row, pick, pick_button, set_choice

DIRECTIONS: dict[Direction, str] = {
    "noising": "The other run's parts into this run",
    "denoising": "This run's parts into the other run",
}
PROVES: dict[Direction, str] = {
    "noising": "A part near 1 was **needed**: with the other run's part in its place the answer becomes the "
    "other one's. Near 0, something else carries the difference, or another part makes up for it.",
    "denoising": "A part near 1 is **enough**: alone it restores this sentence's answer in a run of the "
    "other sentence. Near 0, it needs further parts, or has no say.",
}
_ATTENTIONS = {"self_attn": "self-attention", "cross_attn": "cross-attention"}
ROW, COLUMN, HEAD = "patch_row", "patch_column", "patch_head"
"""The keys of the pickers of a cell's layer and position, and of its head where rows or columns are heads."""
LAYER = "patch_layer"
"""The key of the picker of the layer whose heads are patched position by position."""
ALL_LAYERS = "all layers, all positions together"
HALF = 0.5
"""The share from which a place of the residual stream is said to carry the difference."""
_TENSORS = {"z": "heads", "k": "keys", "v": "values"}


@dataclass(frozen=True)
class _Cell:
    """A cell of a grid, with its name in Markdown."""

    row: int
    column: int
    name: str


@st.fragment
def patching_section(asked: Asked) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("Patch from another sentence")
    prose(
        "Two sentences that differ in a word: where does the run carry that difference to the output? A part "
        "of one run is replaced by the same part of the other (**activation patching**). Both runs read the "
        "same target up to the word that is asked about."
    )
    pair = pick_pair(asked)
    if pair is None:
        return
    _both(asked, pair)
    place = _place(asked)
    direction = pick_button(in_a_row(), "Direction", DIRECTIONS, key="patch_direction")

    def compute(report: OnProgress) -> PatchGrid:
        return patch_grid(asked.loaded, pair, place, direction, report)

    key = ("patch", pair.question, pair.corrupt.source.ids, place, direction)
    grid: PatchGrid = asked.answer(tuple(map(str, key)), "Patching part after part", compute)
    cell = _map(asked, pair, grid)
    rival = "" if asked.rival == NEXT_BEST else asked.rival
    other = other_sentence()
    save_receipt(asked, "patches", direction, rival=rival, other=other, place=str(place))
    if cell is not None:
        _opened(asked, pair, grid, cell)


def _place(asked: Asked) -> Place:
    """Draw the pickers of what is patched, and of the layer if that is heads."""
    config = asked.loaded.model.config
    named = {_name(place): place for place in places(config)}
    left, right = st.columns(2)
    place = named[pick(left.selectbox, "What is patched", list(named), key="patch_what")]
    if not place.by_head:
        return place
    layers = {_layer_name(one.layer): one for one in (place, *place.in_layers(config))}
    return layers[pick(right.selectbox, "Heads of", list(layers), key=LAYER)]


def _layer_name(layer: int | None) -> str:
    return ALL_LAYERS if layer is None else f"layer {layer}, position by position"


def _name(place: Place) -> str:
    if place.attention is None:
        return f"{place.stack}: residual stream"
    return f"{place.stack}: {_TENSORS[place.tensor]} of {_ATTENTIONS[place.attention]}"


def _rival(asked: Asked, pair: Pair) -> str:
    """Where the rival is from, in words."""
    if asked.rival not in ("", NEXT_BEST):
        return "the word that you have typed above"
    if answer_of(asked.loaded, pair.corrupt, pair.question).best == pair.question.rival:
        return "what the other run writes there"
    return f"the next best here, because both runs write {quoted(pair.question.label)}"


def _not_next_best(asked: Asked, pair: Pair) -> str:
    """Why the rival isn't the next best, which is named above the section, in words."""
    if asked.rival != NEXT_BEST or asked.question.rival == pair.question.rival:
        return ""
    return (
        f" It takes the place of the next best above, {quoted(asked.question.rival)}, because a patch moves "
        "the answer of one run towards that of the other."
    )


def _both(asked: Asked, pair: Pair) -> None:
    """Draw what both sentences become, and the answers at the ends of the scale."""
    with st.spinner("The model is writing the other sentence …"):
        other = other_run(asked)
    show_both(("This sentence", "The other sentence"), (asked.run.translation, other.translation))
    question = pair.question
    prose(
        f"The shares below are about two words, {quoted(question.label)} and {quoted(question.rival)}: "
        f"{quoted(question.rival)} is {_rival(asked, pair)}.{_not_next_best(asked, pair)} The logit of the "
        f"first minus that of the second is **{number(pair.clean_value, 2)}** in this sentence and "
        f"**{number(pair.corrupt_value, 2)}** in the other one."
    )
    if pair.clean_value * pair.corrupt_value > 0:
        st.caption(
            "Both prefer the same one of the two, so a patch explains a difference in degree. Ask about a "
            "word that the exchange changes to see what decides it."
        )


def _map(asked: Asked, pair: Pair, grid: PatchGrid) -> _Cell | None:
    """Draw the grid and the pickers of a cell, which open on the one that is named."""
    shares, place, config = grid.shares.numpy(), grid.place, asked.loaded.model.config
    rows, columns = place.row_labels(config), patch_columns(pair, grid)
    column_axis = place.axes[1]
    where = "" if place.layer is None else f"layer {place.layer}, "
    if not shares.any():
        st.info(
            "Nothing here differs between the two runs before the word that is asked about, so no patch "
            "changes anything. Choose something else to patch."
        )
        return None
    first = _first_half(pair, grid)
    best_row, best_column = first or np.unravel_index(int(np.abs(shares).argmax()), shares.shape)
    if first is not None or place.attention is not None:
        found = "Strongest"
        if first is not None:
            aside = ", apart from the exchanged words" if place.stack == input_stack(config) else ""
            found = f"First to reach half, from the input up{aside}"
        st.markdown(
            f"{found}: the part at **{where}{rows[best_row]}, {column_axis} {quoted(columns[best_column])}** "
            f"moves the answer **{shares[best_row, best_column]:.0%}** of the way to the other one."
        )
    drawn = wide("why_patch_map", columns, rows)
    prose(PROVES[grid.direction])
    left, right = st.columns(2)
    row_key, column_key = ROW if place.layer is None else HEAD, HEAD if place.by_head else COLUMN
    follow_default(row_key, int(best_row))
    follow_default(column_key, int(best_column))
    row = pick(
        left.selectbox,
        "Row of a cell",
        range(len(rows)),
        key=row_key,
        index=int(best_row),
        format_func=rows.__getitem__,
    )
    column = pick(
        right.selectbox,
        "Column of a cell",
        range(len(columns)),
        key=column_key,
        index=int(best_column),
        format_func=lambda index: f"{index}: {columns[index]}" if not place.by_head else columns[index],
    )

    def choose(chosen: tuple[int, ...]) -> None:
        set_choice(row_key, chosen[0])
        set_choice(column_key, chosen[1])

    with drawn:
        pick_point(
            patch_figure(pair, grid, config, theme=asked.theme, chosen=(row, column)),
            [list(np.ndindex(shares.shape))],
            choose,
            key="why_patches",
            name="patches",
            caption="Each cell is a run with this one part exchanged. 0: its answer stays. 1: it becomes the "
            f"other run's. Below 0 or above 1: the part works against others. {_columns(place)} Click a cell "
            "to see both runs there.",
        )
        computed_by(patch_grid)
    return _Cell(row, column, f"{where}{rows[row]}, {column_axis} {quoted(columns[column])}")


def _first_half(pair: Pair, grid: PatchGrid) -> tuple[int, int] | None:
    """The first layer of a residual stream in which a share reaches half, and its largest there.

    The exchanged tokens' own columns don't count: there the whole difference enters, so that the share is 1
    from the input on. None for other parts, and if no layer reaches half.
    """
    if grid.place.attention is not None:
        return None
    own, other = (np.array(run.trace.tokens(grid.place.stack)[0]) for run in (pair.clean, pair.corrupt))
    shares = np.where(own == other, grid.shares.numpy(), 0)
    rows = np.flatnonzero((shares >= HALF).any(axis=1))
    return (int(rows[0]), int(shares[rows[0]].argmax())) if len(rows) else None


def _columns(place: Place) -> str:
    if place.by_head:
        return "A head is exchanged at all positions together."
    return "A column with two tokens is one in which the sentences differ."


def _opened(asked: Asked, pair: Pair, grid: PatchGrid, cell: _Cell) -> None:
    """Draw both runs and the patched one at a cell."""
    loaded, place, direction = asked.loaded, grid.place, grid.direction
    variant = patch_of(loaded, pair, place, direction, cell.row, cell.column)
    with st.spinner("Running with this patch …"):
        patched = run_again(edited_model(loaded, variant), pair.patched(direction))
    runs = {
        "this sentence": pair.clean,
        "the other sentence": pair.corrupt,
        f"{'this' if direction == 'noising' else 'the other'} one, patched": patched,
    }
    question = pair.question
    word, rival = visible(question.label), visible(question.rival)
    answers = {name: answer_of(loaded, run, question) for name, run in runs.items()}
    table = pd.DataFrame(
        [
            (name, visible(one.best), one.probability, one.rival_probability, one.difference)
            for name, one in answers.items()
        ],
        columns=["run", "writes", f"P({word})", f"P({rival})", "logit difference"],
    )
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table.style.format(lambda value: number(value, 2), subset=["logit difference"]),
        hide_index=True,
        key="why_patched",
        column_config=dict.fromkeys(table.columns[2:4], percent),
    )
    for name, one in answers.items():
        if one.best_probability > max(one.probability, one.rival_probability):
            st.markdown(
                f"In {name}, the model writes neither of the two there but {quoted(one.best)}, with a "
                f"probability of **{one.best_probability:.1%}**."
            )
    own, other, cosine = vectors_at(loaded, pair, place, cell.row, cell.column)
    st.markdown(
        f"With {cell.name} exchanged, the answer goes "
        f"**{float(grid.shares[cell.row, cell.column]):.0%}** of the way. The two runs' vectors there are "
        f"{number(own, 2)} and {number(other, 2)} long, with a cosine of {number(cosine, 2)}."
    )
    computed_by(answer_of)
    if place.by_head:
        layer = _layer_name(cell.row)
        st.button(f"Patch {layer}", key="patch_by_position", on_click=set_choice, args=(LAYER, layer))
    if place.stack == "encoder" or place.tensor in ("k", "v"):
        base = asked.run if direction == "noising" else other_run(asked)
        with st.spinner("The model is writing with this patch …"):
            written = rewritten(loaded, base, variant).translation
        st.markdown("**With this patch from the first word on, the model writes**")
        st.markdown(marked(base.translation, written)[1])
        computed_by(rewritten)
