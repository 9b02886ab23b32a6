"""Where each head looked when the chosen token was scored: in the source, and in the target so far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import Attention, attention_record
from transformer.decoding.beam_tree import BeamNode
from transformer.loaded import LoadedModel
from transformer.model.attention import scaled_dot_product_attention
from transformer.model_input import reads_as
from transformer.run import Run
from viz.figures.labels import visible
from viz.pages.shared.attention_view import keep, viewer
from viz.pages.shared.explain import computed_by
from viz.pages.shared.sentence import SentenceRun
from viz.pages.shared.why_button import ask_why, why_button, word_at, words_of_output
from viz.text_session import boxes_of
from viz.viewer.choice import Choice
from viz.viewer.truncation import truncated
from viz.viewer.viewer_run import ViewerRun, view_run

EXPLORE = "viz/pages/explore/page.py"
PREFIX = "beam_"
"""Prefix of this viewer's choices, so that they don't change Explore's."""


def draw_heads(sentence: SentenceRun, run: Run, node: BeamNode) -> None:
    """Draw where each head looks from the position at which the node's token was chosen.

    Args:
        sentence: the sentence being searched.
        run: its run with a target that contains the node.
        node: the chosen node; the decoder's newest input is the token before it.
    """
    row = _row_of(run, node)
    has_source = run.encoder_input is not None
    where = "at the source and at the target so far" if has_source else "at the text so far"
    st.text(
        f"Step {node.position - 1}: the decoder's newest input is “{visible(run.trace.tgt_tokens[0][row])}”, "
        f"position {row}. From there each head looks {where}, to choose the next {sentence.unit}."
    )
    _viewer(sentence, run, node)


def _row_of(run: Run, node: BeamNode) -> int:
    """The position in the decoder from which a node's token was chosen, in a run through the node."""
    n_given = len(run.target_ids) - len(run.target.ids)  # the tokens that the decoder reads before the target
    return n_given + node.position - 2


@st.fragment
def _viewer(sentence: SentenceRun, run: Run, node: BeamNode) -> None:
    row = _row_of(run, node)
    viewed = seen_at(sentence.loaded, run, row)
    first = _first_choice(viewed, row)
    links = st.container()  # above the pictures, which are taller than most windows
    choice = viewer(viewed, key="beam_viewer", prefix=PREFIX, first=first, owner=(run.target_ids, row))
    with links:
        _links(sentence, run, choice, node)
    path = attention_record(run.trace, choice.attention, choice.layer).path
    computed_by(scaled_dot_product_attention, path)


def seen_at(loaded: LoadedModel, run: Run, row: int) -> ViewerRun:
    """The run when position `row` was the newest, without anything later."""
    viewed = view_run(run, loaded)
    n_keys: dict[Attention, int] = {"decoder": row + 1}
    if "cross" in viewed.attentions:
        n_keys["cross"] = viewed.attentions["cross"].allowed.shape[1]
    return truncated(viewed, row, n_keys)


def _first_choice(viewed: ViewerRun, row: int) -> Choice:
    """All heads from the newest token, and the key to which the last layer's head 0 attends most."""
    name: Attention = "cross" if "cross" in viewed.attentions else "decoder"
    chosen = viewed.attentions[name]
    key = int(np.argmax(chosen.weights(chosen.n_layers - 1)[0, row]))
    return Choice(name, chosen.n_layers - 1, view="token", cell=(row, key))


def _links(sentence: SentenceRun, run: Run, choice: Choice, node: BeamNode) -> None:
    """Offer the head on Explore and the word on Why, if there the target's text gives the same tokens."""
    if not _can_be_typed(sentence, run):
        st.caption("Other pages would read this target as text and split it into different tokens.")
        return

    def prepare() -> None:
        _use_target(sentence, run)
        keep(choice)

    with st.container(horizontal=True):
        if st.button("Open this head on Explore", key="beam_explore", on_click=prepare):
            st.switch_page(EXPLORE, query_params={})  # needed to drop the entries of widgets
        why_button(*word_of(sentence, run, node), key="why_decode")


def _can_be_typed(sentence: SentenceRun, run: Run) -> bool:
    """True if other pages, which read a run's target as text, get the same tokens."""
    target = sentence.loaded.target.decode(run.target.ids)
    return reads_as(sentence.loaded, run.source, sentence.text, target, run.target.ids)


def _use_target(sentence: SentenceRun, run: Run) -> None:
    """Put a run's target into the box that other pages read. To be called from a callback."""
    box = boxes_of(sentence.loaded).target
    st.session_state[box] = sentence.loaded.target.decode(run.target.ids)


def word_of(sentence: SentenceRun, run: Run, node: BeamNode) -> tuple[str, Callable[[], None]]:
    """The word that a node's token is part of, and a callback that asks on the page Why about it.

    "" for the start, and for a target that the page Why would read as different tokens.
    """
    words = words_of_output(sentence, run)
    at = word_at(words, _row_of(run, node))
    if at is None or not _can_be_typed(sentence, run):
        return "", lambda: None

    def ask() -> None:
        _use_target(sentence, run)
        ask_why(sentence, at)

    return visible(words[at].label), ask
