"""How sure is it: how often translations and words with similar probabilities were right."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.confidence import Confidence, confidence, run_confidence
from transformer.experience import Calibration
from transformer.training.calibration import LIKE
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.pages.shared.sentence import SentenceRun
from viz.run_figures.decoding import confidence_figure, reliability_figure
from viz.theme import Theme

NOT_MEASURED = (
    "How often this model is right was not measured when it was trained. `python -m transformer train` "
    "measures it when given `--valid`."
)
WHAT_IS_RIGHT = (
    "A translation counts as right if it is close to one of the references (chrF of at least "
    f"{LIKE:.0f}), a word if one of the references contains it; a good translation that no reference has "
    "counts as wrong. A logistic regression on the tokens' probabilities makes the predictions; each tenth "
    "of the sentences is judged by one that has not seen it. On the dotted line prediction and outcome agree."
)


def confidence_section(sentence: SentenceRun) -> None:
    """Draw the section for a run whose target the model generated."""
    run, loaded = sentence.run, sentence.loaded
    if run.encoder_input is None or sentence.choice.random is not None:
        return  # a language model's continuation is neither right nor wrong; a random model is never asked
    st.header("How sure is it?")
    found = run_confidence(loaded, run)
    if found is None:
        st.caption(NOT_MEASURED)
        return
    prose(
        "The probabilities of its tokens say how likely the model was to write this. How often such "
        "translations are *right* had to be measured, on sentences outside its training data."
    )
    show_text(run.translation)
    _verdict(found)
    show(
        confidence_figure(found, theme=sentence.theme),
        name="how-sure",
        caption="The probability that each word is right. Words left of the line are wrong more often than "
        "not. ✱ marks an invented word: its pieces never occurred together in training, and it is not "
        "copied from the source.",
        key="confidence_words",
    )
    computed_by(confidence)
    assert loaded.experience is not None
    assert loaded.experience.calibrations is not None
    with st.expander("How far these probabilities can be trusted"):
        _diagram(loaded.experience.calibrations, sentence.theme)


def _verdict(found: Confidence) -> None:
    if found.warning:
        st.warning(found.warning, icon=":material/warning:")
    else:
        st.markdown(f"**About {found.probability:.0%} of such translations were right.**")


def _diagram(calibrations: tuple[Calibration, Calibration], theme: Theme) -> None:
    show(
        reliability_figure(calibrations, theme=theme),
        name="reliability",
        caption=WHAT_IS_RIGHT,
        key="confidence_reliability",
    )
    for what, one in zip(("translations", "words"), calibrations, strict=True):
        st.markdown(
            f"{one.count:,} {what} of the validation sentences: {one.right:.0%} right. Prediction and "
            f"outcome differ by {one.error:.1%} on average (expected calibration error); Brier score "
            f"{one.brier:.3f}."
        )
