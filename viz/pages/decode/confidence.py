"""How sure is it: how often translations and words as uncertain as these were right."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.confidence import Confidence, confidence, run_confidence
from transformer.experience import Calibration
from transformer.run import Run
from transformer.training.calibration import LIKE
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.run_figures.decoding import confidence_figure, reliability_figure
from viz.session import current_model, current_theme

NOT_MEASURED = (
    "How often this model is right, and so how far it can be trusted, was not measured when it was trained. "
    "Models that `python -m transformer train` makes with `--valid` know it."
)
WHAT_IS_RIGHT = (
    "A translation counts as right here if it is much like one of the references (chrF of at least "
    f"{LIKE:.0f}), a word if one of the references has it: so a good translation that nobody thought of "
    "counts as wrong. The "
    "claims are made by a logistic regression on the tokens' probabilities; each tenth of the sentences "
    "is judged by one that has not seen it. On the dotted line claim and truth are the same."
)


def confidence_section(run: Run) -> None:
    """Draw the section for a run whose target is the model's own."""
    loaded = current_model()
    if run.encoder_input is None:
        return  # what a language model continues is neither right nor wrong
    st.header("How sure is it?")
    found = run_confidence(loaded, run)
    if found is None:
        st.caption(NOT_MEASURED)
        return
    prose(
        "The probabilities of its tokens say how likely the model was to write this. How often such "
        "translations are *right* had to be measured, on sentences that it was not trained on."
    )
    show_text(run.translation)
    _verdict(found)
    show(
        confidence_figure(found, theme=current_theme()),
        name="how-sure",
        caption="How probably each word is right. Left of the line are those that are wrong more often than "
        "not. ✱ marks a word that was made up: its pieces never stood together in training, and it is not "
        "copied from the source.",
        key="confidence_words",
    )
    computed_by(confidence)
    assert loaded.experience is not None
    assert loaded.experience.calibrations is not None
    with st.expander("How far these probabilities can be trusted"):
        _diagram(loaded.experience.calibrations)


def _verdict(found: Confidence) -> None:
    if found.warning:
        st.warning(found.warning, icon=":material/warning:")
    else:
        st.markdown(f"**Right with a probability of {found.probability:.0%}**, as similar ones were.")


def _diagram(calibrations: tuple[Calibration, Calibration]) -> None:
    show(
        reliability_figure(calibrations, theme=current_theme()),
        name="reliability",
        caption=WHAT_IS_RIGHT,
        key="confidence_reliability",
    )
    for what, one in zip(("translations", "words"), calibrations, strict=True):
        st.markdown(
            f"{one.count:,} {what} of the validation sentences: {one.right:.0%} right. Claim and truth are "
            f"{one.error:.1%} apart on average (expected calibration error); Brier score {one.brier:.3f}."
        )
