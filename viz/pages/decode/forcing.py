"""Teacher forcing compared with free running: one source, the reference and the model's own target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention, attention_record
from transformer.analysis.token_scores import ScoredTarget, parting, scored_target, token_scores
from transformer.model.attention import scaled_dot_product_attention
from transformer.run import Run
from transformer.text.coder import Unit
from viz.figures.labels import visible, visible_in_full
from viz.figures.numbers import number
from viz.pages.decode.session import right_translations
from viz.pages.decode.verdicts import percent
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.model_words import target_label, target_noun
from viz.pages.shared.sentence import SentenceRun, run_or_warn
from viz.run_figures.decoding import targets_figure
from viz.session import run_of
from viz.text_session import boxes_of, texts_to_address, typed_texts
from viz.viewer.viewer_run import view_run

FORCED, FREE = "forced: the reference", "free: the model's own words"


@st.fragment
def forcing_section(sentence: SentenceRun) -> None:
    """Draw the section for a run whose target the model generated; a choice redraws only this section."""
    st.header("Teacher forcing and free running")
    prose(
        "**Teacher forcing**: at each step the model reads the *correct* words so far, as in training. "
        "**Free running**: it reads the words that it has chosen itself (greedy decoding). Up to the point "
        "where the two diverge, the model reads the same words and gives the same probabilities. After it, "
        "one continues the reference, which the model would not have written, the other the model's own "
        "words."
    )
    forced_run = _forced_run(sentence)
    if forced_run is None:
        return
    runs = forced_run, sentence.run
    forced, free = (scored_target(sentence.loaded, run) for run in runs)
    _divergence(forced, free, sentence.unit)
    _totals(runs, (forced, free))
    show(
        targets_figure({FORCED: forced, FREE: free}, theme=sentence.theme),
        name="forced-and-free",
        caption="Above: the log-probability of each token given those before it; 0 is certain. Below: the "
        "entropy of the distribution that it was chosen from; 0 is certain of one token.",
        key="forcing_scores",
    )
    computed_by(token_scores)
    _attentions(sentence, forced_run)


def _forced_run(sentence: SentenceRun) -> Run | None:
    """The run with the typed reference or else the example's; None, with a note on the page, without either.

    An example's translation that differs from the model's own is preferred: an equal one would show nothing.
    """
    loaded, text = sentence.loaded, sentence.text
    own = sentence.run.translation
    known = sorted(right_translations(sentence.choice, text), key=lambda right: right == own)
    noun = target_noun(loaded)
    st.text_input(
        target_label(loaded, "reference"),
        key=boxes_of(loaded).target,
        persist_state="session",
        placeholder=known[0] if known else f"Type the correct {noun} and press Enter",
        help="The target that the model is forced to follow, token by token.",
    )
    texts_to_address()
    _, typed = typed_texts(loaded)
    reference = typed if typed.strip() else known[0] if known else ""
    if not reference:
        st.info(f"Type the correct {noun} to compare it with the model's own.")
        return None
    if not typed.strip():
        st.text(f"The reference is the example's own translation: {visible_in_full(reference)}")
    return run_or_warn(lambda: run_of(sentence.choice, text, reference))


def _divergence(forced: ScoredTarget, free: ScoredTarget, unit: Unit) -> None:
    position = parting(forced.ids, free.ids)
    if position is None:
        st.markdown("**They never diverge**: the model writes the reference itself, token for token.")
        return
    if position >= min(len(forced.ids), len(free.ids)):
        st.markdown(f"**They diverge at step {position}**, where the shorter one was cut off.")
        return
    given, own = (
        f"“{visible(one.tokens[position])}” ({percent(np.exp(one.scores.log_probabilities[position]))}, "
        f"number {one.scores.ranks[position]:,} of all {unit}s)"
        for one in (forced, free)
    )
    before = " Up to there they are equal." if position else ""
    st.markdown(f"**They diverge at step {position}.**{before}")
    st.text(f"The reference continues with {given}; the model itself with {own}.")


def _totals(runs: tuple[Run, Run], targets: tuple[ScoredTarget, ScoredTarget]) -> None:
    for column, name, run, target in zip(st.columns(2), (FORCED, FREE), runs, targets, strict=True):
        scores = target.scores
        with column, st.container(border=True, height="stretch"):
            st.markdown(_heading(name))
            show_text(run.translation)
            st.caption(
                f"{len(target.ids)} tokens; log-probability {number(scores.total)}, perplexity "
                f"{scores.perplexity:.2f}: as unsure as a uniform choice among that many tokens."
            )


@st.fragment
def _attentions(sentence: SentenceRun, forced: Run) -> None:
    """Draw one head in both runs, of cross-attention or, if there is no source, of self-attention."""
    free = sentence.run
    name: Attention = "decoder" if free.encoder_input is None else "cross"
    label, where = ATTENTION_LABELS[name], "source" if name == "cross" else "text so far"
    st.markdown(f"**{label} of one head in both**: where it looks in the {where}, one row per step")
    runs = [view_run(run, sentence.loaded) for run in (forced, free)]
    choice = None
    for column, heading, key, viewed in zip(
        st.columns(2), (FORCED, FREE), ("forcing_forced", "forcing_free"), runs, strict=True
    ):
        with column:
            st.markdown(_heading(heading))
            alone = replace(viewed, attentions={name: viewed.attentions[name]})
            choice = viewer(alone, key=key, prefix="forcing_", grid=False, views=["head"], detail=False)
    assert choice is not None
    computed_by(scaled_dot_product_attention, attention_record(free.trace, name, choice.layer).path)


def _heading(name: str) -> str:
    return f"**{name[0].upper()}{name[1:]}**"
