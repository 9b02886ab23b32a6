"""Parts switched off by hand: the new translation next to the old, and what each word lost."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    attention_record,
)
from transformer.analysis.interventions.edited_model import rewritten
from transformer.analysis.interventions.edits import row, zero
from transformer.analysis.interventions.heads import HeadPlace, Switch, head_places
from transformer.analysis.interventions.knock_outs import input_words, without_tokens
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.residual import addition_path
from transformer.errors import EditError
from transformer.model.trace import Edit
from transformer.run import Run
from viz.address import remember, remembered, whole_numbers
from viz.figures.bars import token_bars
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.shared.changed_words import differences, show_both
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show, wide
from viz.pages.shared.literal_text import refused
from viz.pages.shared.sections import SECTION
from viz.pages.why.asked import Asked
from viz.pages.why.effects import opened_head
from viz.pages.why.query import pick_query
from viz.widgets import set_choice

NAME = "Switch off"
"""The section's name in the page's menu."""
OFF_HEADS, OFF_SUBLAYERS, OFF_WORDS = "off_heads", "off_sublayers", "off_words"


def switch_off(asked: Asked, place: HeadPlace) -> None:
    """Open the section with one head switched off. To be called from a callback."""
    set_choice(SECTION, NAME)
    index = head_places(asked.loaded.model.config).index(place)
    remember(OFF_HEADS, str(index), _owner(asked))
    remember(OFF_SUBLAYERS, "", _owner(asked))
    remember(OFF_WORDS, "", _owner(asked))


def _owner(asked: Asked) -> Hashable:
    """What the choice of parts belongs to: other models and sentences have others."""
    return asked.sentence.choice, asked.sentence.text


@st.fragment
def switching_section(asked: Asked) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("Switch parts off")
    prose(
        "What you choose is switched off in the whole run, and the model writes again: heads and sublayers "
        "put out zeros, words are replaced by the unknown word, and a row of attention is what you type."
    )
    edits = _chosen_edits(asked)
    if not edits:
        st.info("Choose at least one part. Nothing is switched off yet.")
        return
    try:
        _compare(asked, edits)
    except EditError as error:
        refused("This can't be switched off.", error)


def _chosen_edits(asked: Asked) -> dict[str, Edit]:
    """Draw the pickers; returns what is switched off, by path."""
    loaded, run = asked.loaded, asked.run
    heads = {str(place): place for place in head_places(loaded.model.config)}
    sublayers = _sublayers(run)
    words = input_words(loaded, run)
    named = {f"{index}: {visible(label)}": index for index, label in enumerate(words.labels)}
    off_heads = _several(asked, "Heads", list(heads), OFF_HEADS)
    left, right = st.columns(2)
    with left:
        off_sublayers = _several(asked, "Sublayers", list(sublayers), OFF_SUBLAYERS)
    with right:
        off_words = _several(asked, "Words", list(named), OFF_WORDS)
    edits: dict[str, Edit] = {}
    if off_heads:
        (variant,) = Switch(loaded, "zero").off([heads[name] for name in off_heads])
        edits |= variant
    for name in off_sublayers:
        edits |= zero().at(addition_path(loaded.model.config, sublayers[name]), loaded)
    positions = [position for name in off_words for position in words.tokens(named[name])]
    if positions:
        edits |= without_tokens(loaded, run, positions, "unknown")
    with st.expander("Edit a row of attention by hand"):
        edits |= _edited_row(asked)
    return edits


def _several(asked: Asked, label: str, options: Sequence[str], name: str) -> list[str]:
    """Draw a picker of any number of options, whose indices are in the address under this name."""
    picker, owner = f"why_{name}", _owner(asked)
    chosen = [index for index in whole_numbers(remembered(name, "", owner)) if index < len(options)]
    st.session_state[picker] = [options[index] for index in chosen]

    def keep() -> None:
        remember(name, ",".join(str(options.index(one)) for one in st.session_state[picker]), owner)

    return st.multiselect(
        label,
        options,
        key=picker,
        placeholder=f"None: choose {label.lower()}",
        on_change=keep,
    )


def _sublayers(run: Run) -> dict[str, str]:
    """The paths of all sublayers, by name."""
    is_output = re.compile(r".*\.layers\.\d+\.\w+\.out").fullmatch  # not that of one expert
    paths = [path.removesuffix(".out") for path in run.trace if is_output(path)]
    names = {"self_attn": "self-attention", "cross_attn": "cross-attention", "feed_forward": "feed-forward"}
    found = {}
    for path in paths:
        stack, _, layer, sublayer = path.split(".")
        found[f"{stack}, layer {layer}, {names[sublayer]}"] = path
    return found


def _edited_row(asked: Asked) -> dict[str, Edit]:
    """Draw the editor of one row; empty while it is as the model computed it."""
    place, query, _ = pick_query(asked, "row", [1, 1, 2], opened_head(asked))
    attention, layer, head = place.attention, place.layer, place.head
    record = attention_record(asked.run.trace, attention, layer)
    own = record.weights[0, head, query].numpy()
    is_open = record.mask[0, 0, query].numpy()
    table = pd.DataFrame(
        {"key": [visible(token) for token in record.key_tokens[0]], "weight": own.astype(float)}
    )[is_open]
    prose(
        f"The weights of {ATTENTION_LABELS[attention].lower()}, layer {layer}, head {head}, for this query. "
        "Type others: they are used as they are, and need not sum to 1."
    )
    edited = st.data_editor(
        table,
        key=f"row {attention} {layer} {head} {query} {asked.sentence.text}",
        hide_index=True,
        disabled=["key"],
        column_config={"weight": st.column_config.NumberColumn("weight", format="%.4f", min_value=0.0)},
    )
    weights = np.zeros(len(own))
    weights[is_open] = edited["weight"].fillna(0.0).to_numpy()
    if np.allclose(weights, own, atol=1e-6):
        return {}
    path = f"{record.path}.weights"
    return row(query, weights.tolist(), head=head).at(path, asked.loaded)


def _compare(asked: Asked, edits: Mapping[str, Edit]) -> None:
    """Draw the two outputs, and what each word lost."""
    loaded, run = asked.loaded, asked.run
    with st.spinner("The model is writing with these parts off …"):
        again = rewritten(loaded, run, edits)
        before, after = outcomes(loaded, run, [{}, edits], [asked.question, *asked.questions]).numpy()
    show_both(("As it is", "With these parts off"), (run.translation, again.translation))
    changed = differences(run.translation, again.translation)
    st.markdown(
        f"Changed: {changed}." if changed else "The output is the same. The words may still be less probable:"
    )
    st.markdown(
        f"**The answer** to the question above goes from {number(float(before[0]), 2)} to "
        f"{number(float(after[0]), 2)} {asked.question.unit}."
    )
    labels = [one.label for one in asked.questions]
    with wide("why_switched_words", labels):
        show(
            token_bars(
                (after - before)[1:],
                labels,
                theme=asked.theme,
                quantity="change of log-probability (nats)",
                axis="word of the original output",
            ),
            name="switched-off",
            caption="How the log-probability of each word of the original output changes, with the same "
            "words before it. Below 0 it becomes less probable.",
            key="why_switched",
        )
    computed_by(outcomes)
