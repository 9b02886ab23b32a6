"""One mistake: its code, its effect on the model and the sentence, and how to find it in your own code."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.doctor.examine import examine_model
from viz.pages.lab.mistakes.mistake import Mistake
from viz.pages.lab.number import symptom_numbers
from viz.pages.lab.outputs import BROKEN, SOUND, outputs
from viz.pages.lab.picking import pick_mistake
from viz.pages.lab.pictures import pictures, stage_figure
from viz.pages.lab.session import Broke, break_it, new_findings
from viz.pages.lab.training import leak_section
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.findings import show_findings
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.sentence import SentenceRun, run_or_warn


@st.fragment
def mistake_view(sentence: SentenceRun) -> None:
    """Draw the chosen mistake, applied to the model and the sentence."""
    config = sentence.config
    mistake = pick_mistake(config)
    st.header(mistake.title)
    prose(escaped(mistake.what))
    _code(mistake)
    if why := mistake.unfit(config):
        st.info(escaped(why))
    else:
        broke = run_or_warn(lambda: break_it(mistake, sentence), "Breaking the model …")
        if broke is not None:
            _effects(broke)
    _in_code(mistake)
    if mistake.leak is not None:
        leak_section(mistake)


def _effects(broke: Broke) -> None:
    st.subheader("What it puts out")
    with st.container(key="lab_outputs"):
        outputs(broke, key="lab steps")
    st.subheader("The number that gives it away")
    symptom_numbers(broke.symptom)
    computed_by(broke.mistake.symptom)
    st.subheader("What changes")
    pictures(broke)
    if broke.broken.reading is None:
        stage_figure(broke)
    _doctor(broke)


def _code(mistake: Mistake) -> None:
    """Draw the correct lines next to the wrong ones."""
    for column, name, lines in zip(
        st.columns(2, gap="medium"), (SOUND, BROKEN), (mistake.right, mistake.wrong), strict=True
    ):
        with column:
            st.markdown(f"**{name}**")
            st.code(lines, language="python", wrap_lines=True)


def _doctor(broke: Broke) -> None:
    st.subheader("What the doctor says")
    if broke.broken.loaded is None:
        st.markdown(
            "Nothing: the model is sound. What it is given, or how its numbers are read, is wrong, and that "
            "no examination of a model can find."
        )
        return
    with st.spinner("The doctor looks at both models …"):
        findings = new_findings(broke)
    if findings:
        st.markdown("Of the broken model, and not of the sound one:")
        show_findings(findings, key="lab_findings")
    else:
        st.markdown(
            "Nothing that it does not say of the sound model too. The weights are the same and the "
            "architecture keeps its promises: what finds this mistake is the number above, or a comparison "
            "with another implementation."
        )
    computed_by(examine_model)


def _in_code(mistake: Mistake) -> None:
    """Say how to find the mistake in your own code, and where it was published."""
    st.subheader("Find it in your own code")
    st.code(mistake.find, language="python", wrap_lines=True)
    st.subheader("Where it was seen")
    for seen in mistake.seen:
        name = escaped(f"{seen.project} {seen.number}".strip())
        st.markdown(f"- [{name}]({seen.url})" + (f": {escaped(seen.said)}" if seen.said else ""))
