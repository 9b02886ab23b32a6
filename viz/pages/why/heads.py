"""Which heads matter, and for which word: every head switched off, and only a few kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from transformer.analysis.attention_maps import ATTENTION_LABELS, MODULES, attention_record
from transformer.analysis.interventions.direct import direct_effects
from transformer.analysis.interventions.edited_model import rewritten
from transformer.analysis.interventions.heads import (
    ABLATIONS,
    N_DRAWS,
    Ablation,
    HeadPlace,
    Switch,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.ledgers.logit import output_stack
from transformer.run import Run
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.shared.attention_view import keep
from viz.pages.shared.changed_words import differences, marked
from viz.pages.shared.explain import computed_by, prose
from viz.pages.why.asked import Asked, asked_in_words
from viz.pages.why.effects import (
    effects_of,
    head_in_table,
    open_in_table,
    order_by_kind,
    reference_runs,
    reference_texts,
)
from viz.pages.why.few_heads import kept_heads
from viz.pages.why.many import REPLACED, many_part
from viz.pages.why.receipt import save_receipt
from viz.pages.why.switching import switch_off
from viz.theme import Theme
from viz.viewer.choice import Choice
from viz.widgets import pick_button

EXPLORE = "viz/pages/explore/page.py"
NAMES: dict[Ablation, str] = {"mean": "its mean", "resample": "resampled", "zero": "zeros"}
MEANINGS: dict[Ablation, str] = {
    "mean": f"{REPLACED['mean']}, so that only what is specific to this sentence is lost",
    "resample": REPLACED["resample"],
    "zero": f"{REPLACED['zero']}, which later layers never see otherwise",
}
WRITES: dict[Ablation, str] = {
    "mean": "With its mean in its place",
    "resample": f"With the first of the {N_DRAWS} draws in its place",
    "zero": "With zeros in its place",
}
STRONGEST = 1.0
"""Effect, in nats, at which a cell has its full colour."""


@st.fragment
def heads_section(asked: Asked) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("Which heads matter?")
    how = pick_button(
        st.container(width="content").segmented_control, "Replace a head's output by", NAMES, key="ablation"
    )
    reference = reference_runs(asked)
    places = head_places(asked.loaded.model.config)
    effects = effects_of(asked, how, reference)
    alone = effects[:, 0]
    _summary(asked, places, alone, MEANINGS[how].format(where=_where(asked, reference)))
    _head_by_head(asked, how, reference, places, effects)
    save_receipt(asked, "heads", how, reference=tuple(reference_texts(asked)) or (asked.sentence.text,))
    _agreement(asked, how, reference, alone)
    kept_heads(asked, how, reference, places, alone)
    many_part(asked, how, reference)


@st.fragment
def _head_by_head(
    asked: Asked,
    how: Ablation,
    reference: Sequence[Run],
    places: Sequence[HeadPlace],
    effects: NDArray[np.float64],
) -> None:
    """Draw the chosen head and the table; a click redraws only these."""
    place = head_in_table(asked) or places[int(effects[:, 0].argmax())]
    _opened(asked, how, reference, place, float(effects[places.index(place), 0]))
    _table(asked, places, effects, _direct(asked, how, reference))
    computed_by(head_effects)


def _direct(asked: Asked, how: Ablation, reference: Sequence[Run]) -> NDArray[np.float64]:
    """(heads,): the direct effect on the question; NaN for heads without a direct path."""

    def compute(report: OnProgress) -> NDArray[np.float64]:
        switch = Switch(asked.loaded, how, reference)
        return direct_effects(asked.loaded, asked.run, [asked.question], switch, report).numpy()[:, 0]

    return asked.answer(("direct", asked.question, how), "Holding later layers as they were", compute)


def _summary(asked: Asked, places: Sequence[HeadPlace], effects: NDArray[np.float64], meaning: str) -> None:
    best, worst = int(effects.argmax()), int(effects.argmin())
    unit = asked.question.unit
    prose(
        f"Each of the {len(places)} heads is switched off alone: its output is replaced by "
        f"{meaning}. The number is **how much the answer falls**: {asked_in_words(asked)}, "
        f"which is {number(asked.own_value, 2)} {unit} in this run."
    )
    losses = np.sort(effects.clip(0))[::-1]
    half = int(np.searchsorted(losses.cumsum(), losses.sum() / 2)) + 1
    against = (
        f" {name_of(places[worst])} works against the answer: without it the answer rises by "
        f"{number(-float(effects[worst]), 2)}."
        if effects[worst] < 0
        else ""
    )
    n_half = "the costliest alone accounts" if half == 1 else f"the {half} costliest account"
    st.markdown(
        f"**{name_of(places[best])}** costs most: without it the answer falls by "
        f"{number(float(effects[best]), 2)} {unit}. For the median head that is "
        f"{number(float(np.median(effects)), 3)}; {n_half} for half of all falls.{against}"
    )


def _where(asked: Asked, reference: Sequence[Run]) -> str:
    if reference == [asked.run]:
        return "this sentence"
    return f"{len(reference)} other example sentences"


def name_of(place: HeadPlace) -> str:
    """A head in words."""
    return f"{ATTENTION_LABELS[place.attention]}, layer {place.layer}, head {place.head}"


def _table(
    asked: Asked,
    places: Sequence[HeadPlace],
    effects: NDArray[np.float64],
    direct: NDArray[np.float64],
) -> None:
    """Draw the table of heads and words, sorted by the question; a click on a cell opens its head."""
    question = asked.question
    versus = f", not {visible(question.rival)}" if question.rival_id is not None else ""
    columns = [
        f"{visible(question.label)}{versus}",
        "directly",
        *(f"{place} {visible(one.label)}" for place, one in enumerate(asked.questions)),
    ]
    order = np.argsort(-effects[:, 0], kind="stable")
    values = np.insert(effects, 1, direct, axis=1)[order]
    table = pd.DataFrame(values, columns=columns)
    table.insert(0, "head", [str(places[index]) for index in order])
    largest = max(float(np.abs(effects[:, 0]).max()), 1e-9)
    styled = (
        table.style.map(lambda value: _shade(value / largest, asked.theme), subset=columns[:2])
        .map(lambda value: _shade(value / STRONGEST, asked.theme), subset=columns[2:])
        .format(_signed, subset=columns)
    )
    # Another table is another element: its selected row would be another head.
    key = f"why_heads {hash((asked.question, effects.tobytes()))}"

    def choose() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            open_in_table(asked, places[order[cells[0][0]]])

    st.dataframe(
        styled,
        key=key,
        hide_index=True,
        height=390,
        placeholder="no path",
        on_select=choose,
        selection_mode="single-cell",
        column_config={
            "head": st.column_config.TextColumn(
                "head", pinned=True, help="Attention, layer and head, counted from 0."
            )
        },
    )
    st.caption(
        f"The first column is the fall of the answer, in {question.unit}, with everything that later layers "
        "make of the change (total effect). *Directly* is the part through the residual stream alone, with "
        "later layers as they were; an encoder head has no such path. A larger fall directly than in total "
        "means that later layers make up for the head (self-repair). The head's term under Sums is a little "
        "different: there nothing takes its place, and the final norm's scale is that of the run. The other "
        "columns are the fall of each word's own log-probability, in nats. Orange: the head works for the "
        "word; blue: against it. “decoder 2.3” is head 3 of the decoder's layer 2. Click a column's name to "
        "sort, or a cell to open its head above. Scroll to the right for more words."
    )


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value, 3)}"


def _shade(value: float, theme: Theme) -> str:
    """CSS of a cell, from -1 to 1: the diverging scale of the theme, faint around 0."""
    if np.isnan(value):
        return ""
    strength = min(abs(value), 1.0) ** 0.5
    color = theme.diverging[-3] if value > 0 else theme.diverging[2]
    return f"background-color: {color}{round(200 * strength):02x}"


def _opened(asked: Asked, how: Ablation, reference: Sequence[Run], place: HeadPlace, effect: float) -> None:
    """Draw what the model writes without a head, and the ways to see more of it."""

    def without(_: OnProgress) -> str:
        variant, *_others = Switch(asked.loaded, how, reference).off([place])
        return rewritten(asked.loaded, asked.run, variant).translation

    with st.container(border=True, key="why_without"):
        value = asked.own_value
        st.markdown(
            f"**{name_of(place)}**: without it the answer {'falls' if effect >= 0 else 'rises'} by "
            f"{number(abs(effect), 3)}, from {number(value, 2)} to {number(value - effect, 2)} "
            f"{asked.question.unit}. {WRITES[how]} the model writes:"
        )
        written = asked.answer(("without", place, how), "Writing without it", without)
        st.markdown(marked(asked.run.translation, written)[1])
        changed = differences(asked.run.translation, written)
        st.caption(f"Changed: {changed}." if changed else "The same as with it.")
        with st.container(horizontal=True):
            if st.button("See where it looks", key="why_look", on_click=_look, args=(asked, place)):
                st.switch_page(EXPLORE, query_params={})
            label = "Switch more parts off"
            if st.button(label, key="why_off", on_click=switch_off, args=(asked, place)):
                st.rerun()  # another section is outside this fragment


def _look(asked: Asked, place: HeadPlace) -> None:
    """Choose the head on Explore; it stays open here. To be called from a callback."""
    keep(_choice(asked, place))
    open_in_table(asked, place)


def _choice(asked: Asked, place: HeadPlace) -> Choice:
    """The head on Explore, at the row that chooses the word if it has one, and its strongest key."""
    record = attention_record(asked.run.trace, place.attention, place.layer)
    if MODULES[place.attention][0] != output_stack(asked.loaded.model.config):
        return Choice(place.attention, place.layer, place.head)
    row = asked.question.rows[0]
    key = int(record.weights[0, place.head, row].argmax())
    return Choice(place.attention, place.layer, place.head, cell=(row, key))


def _agreement(asked: Asked, how: Ablation, reference: Sequence[Run], effects: NDArray[np.float64]) -> None:
    """Say how much the order of the heads depends on the kind of ablation."""
    others = {NAMES[kind]: effects_of(asked, kind, reference)[:, 0] for kind in ABLATIONS if kind != how}
    names = [str(place) for place in head_places(asked.loaded.model.config)]
    order_by_kind("the output", effects, others, names)
