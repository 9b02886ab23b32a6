"""How sure is it: how often translations and words as uncertain as these were right."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.confidence import Confidence, confidence
from transformer.analysis.token_scores import target_scores
from transformer.checkpoints.experience import Calibration
from transformer.checkpoints.folder import LoadedModel
from transformer.run import Run
from viz.figures.decoding import reliability, word_confidence
from viz.figures.labels import visible
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import show_text
from viz.session import current_model, current_theme

NOT_MEASURED = (
    "How often this model is right, and so how far it can be trusted, was not measured when it was trained. "
    "Models that `python -m transformer train` makes with `--valid` know it."
)
WHAT_IS_RIGHT = (
    "A translation counts as right here if it is much like one of the references (chrF of at least 75), a "
    "word if one of the references has it: so a good translation that nobody thought of counts as wrong. The "
    "claims are made by a logistic regression on the tokens' probabilities; each tenth of the sentences "
    "is judged by one that has not seen it. On the dotted line claim and truth are the same."
)


def confidence_of(loaded: LoadedModel, run: Run) -> Confidence | None:
    """How sure one may be of what a run wrote; None where nothing is known, or the target was given."""
    if loaded.experience is None or not run.generated or not run.steps:
        return None
    ids, scores = target_scores(loaded, run)
    written = loaded.target.of_ids([index for index in ids if index not in loaded.end_ids])
    return confidence(loaded.experience, written, scores.log_probabilities.tolist())


def warning_of(found: Confidence) -> str:
    """What to tell a reader of a translation that is probably wrong; empty for any other."""
    if not found.is_usually_wrong:
        return ""
    share = round(10 * found.probability)
    often = f"about {share} in 10 were" if share else "hardly any was"
    return f"Don't rely on it: of translations that the model was as unsure of, {often} right."


def confidence_section(run: Run) -> None:
    """Draw the section for a run whose target is the model's own."""
    loaded = current_model()
    st.header("How sure is it?")
    found = confidence_of(loaded, run)
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
        word_confidence(
            [visible(word.text) for word in found.words],
            [word.probability for word in found.words],
            [word.is_new for word in found.words],
            theme=current_theme(),
        ),
        name="how-sure",
        caption="How probably each word is right. Those below the line are wrong more often than not. ✱ "
        "marks a word of pieces that never stood together in training: it was made up, or copied.",
        key="confidence_words",
    )
    computed_by(confidence)
    assert loaded.experience is not None
    assert loaded.experience.calibrations is not None
    with st.expander("How far these probabilities can be trusted"):
        _diagram(*loaded.experience.calibrations)


def _verdict(found: Confidence) -> None:
    if warning := warning_of(found):
        st.warning(warning, icon=":material/warning:")
    else:
        st.markdown(f"**Right with a probability of {found.probability:.0%}**, as similar ones were.")


def _diagram(sentences: Calibration, words: Calibration) -> None:
    show(
        reliability({"translations": sentences, "words": words}, theme=current_theme()),
        name="reliability",
        caption=WHAT_IS_RIGHT,
        key="confidence_reliability",
    )
    for what, one in (("translations", sentences), ("words", words)):
        st.markdown(
            f"{one.count:,} {what} of the validation sentences: {one.right:.0%} right. Claim and truth are "
            f"{one.error:.1%} apart on average (expected calibration error); Brier score {one.brier:.3f}."
        )
