"""Teacher forcing beside free running: the same source, the right target beside the model's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention, attention_record
from transformer.analysis.token_scores import ScoredTarget, parting, scored_target, token_scores
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from viz.figures.labels import visible, visible_in_full
from viz.figures.numbers import number
from viz.pages.decode.session import right_translations
from viz.pages.decode.verdicts import percent
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.model_words import target_label, target_noun
from viz.pages.shared.sentence import run_or_warn
from viz.run_figures.decoding import targets_figure
from viz.session import current_choice, current_model, current_theme, run_of, token_unit
from viz.text_session import boxes_of, current_texts, texts_to_address
from viz.viewer.viewer_run import view_run

FORCED, FREE = "given: the reference", "free: the model's own words"


@st.fragment
def forcing_section(free_run: Run) -> None:
    """Draw the section for a run whose target is the model's own; what is chosen draws only this again."""
    st.header("Teacher forcing and free running")
    prose(
        "**Teacher forcing**: at each step the model reads the *right* words so far, as in training. **Free "
        "running**: it reads the words that it has chosen itself (greedy decoding). Up to the point where "
        "the two part, the model sees the same and thinks the same; after it, it continues a sentence "
        "that it would not have written, or from one that is not the right one."
    )
    forced_run = _forced_run(free_run.translation)
    if forced_run is None:
        return
    forced, free = (scored_target(current_model(), run) for run in (forced_run, free_run))
    _where_they_part(forced, free)
    _totals((forced_run, free_run), (forced, free))
    show(
        targets_figure({FORCED: forced, FREE: free}, theme=current_theme()),
        name="forced-and-free",
        caption="Above: the log-probability of each token given those before it, 0 is certain. Below: the "
        "entropy of the whole distribution that it was taken from, 0 is sure of one token.",
        key="forcing_scores",
    )
    computed_by(token_scores)
    _attentions(forced_run, free_run)


def _forced_run(own: str) -> Run | None:
    """The run of the typed reference, or else of the example's; None, with a word, without one.

    Of the example's right translations one is taken that the model doesn't write itself: where both never
    part there is nothing to see.
    """
    text, _ = current_texts()
    known = sorted(right_translations(text), key=lambda right: right == own)
    noun = target_noun(current_model())
    st.text_input(
        target_label(current_model(), "reference"),
        key=boxes_of(current_model()).target,
        persist_state="session",
        placeholder=known[0] if known else f"Type the right {noun} and press Enter",
        help="The target that the model is given, token by token.",
    )
    texts_to_address()
    typed = current_texts()[1]
    reference = typed if typed.strip() else known[0] if known else ""
    if not reference:
        st.info(f"Type the right {noun}: the model is given it and compared with what it writes itself.")
        return None
    if not typed.strip():
        st.text(f"The example's own translation is taken: {visible_in_full(reference)}")
    return run_or_warn(lambda: run_of(current_choice(), text, reference))


def _where_they_part(forced: ScoredTarget, free: ScoredTarget) -> None:
    position = parting(forced.ids, free.ids)
    if position is None:
        st.markdown("**They never part**: by itself the model writes the reference, token for token.")
        return
    if position >= min(len(forced.ids), len(free.ids)):
        st.markdown(f"**They part at step {position}**, where the shorter one has been cut off.")
        return
    given, own = (
        f"“{visible(one.tokens[position])}” ({percent(np.exp(one.scores.log_probabilities[position]))}, "
        f"number {one.scores.ranks[position]:,} of all {token_unit()}s)"
        for one in (forced, free)
    )
    before = " Up to there both are the same." if position else ""
    st.markdown(f"**They part at step {position}.**{before}")
    st.text(f"The reference continues with {given}; the model itself with {own}.")


def _totals(runs: tuple[Run, Run], targets: tuple[ScoredTarget, ScoredTarget]) -> None:
    for column, name, run, target in zip(st.columns(2), (FORCED, FREE), runs, targets, strict=True):
        scores = target.scores
        with column, st.container(border=True, height="stretch"):
            st.markdown(_heading(name))
            show_text(run.translation)
            st.caption(
                f"{len(target.ids)} tokens; log-probability {number(scores.total)}, perplexity "
                f"{scores.perplexity:.2f}: on average as unsure as among so many equal tokens."
            )


@st.fragment
def _attentions(forced: Run, free: Run) -> None:
    """The same head in both runs: of the cross-attention, or of a decoder's own where there is no source."""
    loaded = current_model()
    name: Attention = "decoder" if free.encoder_input is None else "cross"
    label, where = ATTENTION_LABELS[name], "source" if name == "cross" else "text so far"
    st.markdown(f"**{label} of one head in both**: where it looks in the {where}, row by row")
    runs = [view_run(run, loaded) for run in (forced, free)]
    choice = None
    for column, heading, key, held in zip(
        st.columns(2), (FORCED, FREE), ("forcing_forced", "forcing_free"), runs, strict=True
    ):
        with column:
            st.markdown(_heading(heading))
            alone = replace(held, attentions={name: held.attentions[name]})
            choice = viewer(alone, key=key, prefix="forcing_", grid=False, views=["head"], detail=False)
    assert choice is not None
    computed_by(scaled_dot_product_attention, attention_record(free.trace, name, choice.layer).path)


def _heading(name: str) -> str:
    return f"**{name[0].upper()}{name[1:]}**"
