"""How sure is it: how often translations and words with similar probabilities were right."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.confidence import FEWEST_WORDS, Confidence, confidence, is_short, run_confidence
from transformer.experience import Calibration
from transformer.run import Run
from transformer.text.coder import Coder
from transformer.training.calibration import LIKE
from viz.markdown import quoted
from viz.pages.shared.caution import warn_of_lost
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
TOO_SHORT = (
    f"Too short for an estimate: it was measured on sentences, of at least {FEWEST_WORDS} words. For shorter "
    "texts the probabilities say too little about whether a translation is right."
)
MOST_LISTED, MOST_OTHERS = 4, 3
"""Most words listed as unusual, and most alternatives named for each."""
WORTH_NAMING = 0.01
"""Least probability of an alternative that is named."""
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
        is_measured = loaded.experience is not None and loaded.experience.calibrations is not None
        st.caption(TOO_SHORT if is_measured and is_short(run.source) else NOT_MEASURED)
        return
    prose(
        "The probabilities of its tokens say how likely the model was to write this. How often such "
        "translations are *right* had to be measured, on sentences outside its training data."
    )
    show_text(run.translation)
    _verdict(found)
    warn_of_lost(sentence.key)
    _least_sure(found, run, loaded.target)
    with st.expander("The probability of each word"):
        show(
            confidence_figure(found, theme=sentence.theme),
            name="how-sure",
            caption="The probability that each word is right. Words left of the line are wrong more often "
            "than not. ✱ marks an invented word: its pieces never occurred together in training, and it is "
            "not copied from the source.",
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


def _least_sure(found: Confidence, run: Run, coder: Coder) -> None:
    """Name the words that stand out, the least sure first, with what the model considered instead."""
    unusual = found.unusual
    if not unusual:
        low, high = (f"{pick(word.probability for word in found.words):.0%}" for pick in (min, max))
        between = f"all are right with about {low}" if low == high else f"all lie between {low} and {high}"
        st.markdown(f"No word stands out: {between}. {_own_probabilities(run, coder)}")
        return
    lines = []
    for index in unusual[:MOST_LISTED]:
        word = found.words[index]
        invented = ", an invented word" if word.is_new else ""
        lines.append(
            f"- {quoted(word.text)}{invented}: {word.probability:.0%}.{_alternatives(run, coder, index)}"
        )
    more = len(unusual) - MOST_LISTED
    lines += [f"- and {more:,} more"] if more > 0 else []
    st.markdown("The words that are least likely to be right:\n\n" + "\n".join(lines))


def _own_probabilities(run: Run, coder: Coder) -> str:
    """Set the shares that were measured apart from the probabilities that the model itself gave."""
    least = min(run.steps, key=lambda step: step.probability)
    return (
        "These shares were measured on other sentences. The model's own probabilities are something else: "
        f"the lowest is {least.probability:.0%}, for {quoted(coder.token(least.token_id))}."
    )


def _alternatives(run: Run, coder: Coder, word: int) -> str:
    """The best other tokens at the word's least probable step, in words."""
    places = [place for place, of in enumerate(run.target.word_of) if of == word]
    if not places:
        return ""
    step = min((run.steps[place] for place in places), key=lambda one: one.probability)
    others = [
        f"{quoted(coder.token(token))} {probability:.0%}"
        for token, probability in zip(step.top_ids, step.top_probabilities, strict=True)
        if token != step.token_id and probability >= WORTH_NAMING
    ][:MOST_OTHERS]
    if not others:
        return ""
    chosen = f"{quoted(coder.token(step.token_id))} {step.probability:.0%}"
    return f" At step {step.position} the model chose between {', '.join([chosen, *others])}."


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
