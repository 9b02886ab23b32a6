"""Guess the bug: a seed picks a mistake, which is not named, and the reader says which it is.

Nothing on the page reveals it before the guess: widgets, figures and views are named alike for every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from transformer.analysis.changes import first_parted, in_words
from viz.pages.lab.mistakes import MISTAKES
from viz.pages.lab.mistakes.drawing import drawn, guessable
from viz.pages.lab.mistakes.mistake import Level, Mistake
from viz.pages.lab.number import symptom_numbers, written
from viz.pages.lab.outputs import outputs
from viz.pages.lab.picking import open_mistake
from viz.pages.lab.pictures import (
    compared,
    first_changed,
    most_changed,
    pictures,
    stage_figure,
)
from viz.pages.lab.session import Broke, break_it, guess_of, keep_guess
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.explain import prose
from viz.pages.shared.literal_text import escaped
from viz.pages.shared.sentence import SentenceRun, run_or_warn
from viz.viewer.viewer_run import view_run
from viz.widgets import LARGEST_SEED, clamp_choice, in_a_row, pick_button, pick_seed, set_choice

SEED, LEVEL = "bug", "bug_level"
"""Query parameters."""
LEVELS: Mapping[Level, str] = {1: "1", 2: "2", 3: "3"}
LEVELS_NOTE = "1 shows at once, 2 needs a look at the right picture, 3 is subtle."
NAMES = ("The model as it should be", "The patient")
VIEWS = {"output": "What it puts out", "attention": "Attention", "stages": "Where the two part"}
_FEWEST = 2
"""Fewest mistakes worth guessing among."""


@st.fragment
def guess_view(sentence: SentenceRun) -> None:
    """Draw the patient, the choices and, after the guess, the verdict."""
    config = sentence.config
    with st.container(horizontal=True, vertical_alignment="bottom"):
        level: Level = pick_button(in_a_row(), "Level", LEVELS, key=LEVEL, help=LEVELS_NOTE)
        seed = pick_seed(
            st.number_input,
            "Seed",
            key=SEED,
            width=160,
            help="The same seed, level and kind of model have the same bug: a class can look for it together",
        )
        following = (seed + 1) % (LARGEST_SEED + 1)
        st.button("Another", key="another", on_click=set_choice, args=(SEED, following))
    options = guessable(config)
    mistake = drawn(seed, level, config)
    if mistake is None or len(options) < _FEWEST:
        st.info("Too few of the mistakes can be made in this model: choose another one in the sidebar.")
        return
    st.markdown(
        "One mistake is made in the model, with the same weights and the same sentence. Look at what it "
        "does, then say which it is."
    )
    broke = run_or_warn(lambda: break_it(mistake, sentence), "Breaking the model …")
    if broke is None:
        return
    _patient(broke)
    st.header("Which mistake is it?")
    about = (sentence.choice, level, seed)
    guessed = guess_of(about)
    _guessing(options, guessed, f"guess {level} {seed}", lambda name: keep_guess(about, name))
    if guessed is not None:
        _verdict(broke, MISTAKES[guessed], sentence)


def _patient(broke: Broke) -> None:
    """Draw the patient next to the sound model."""
    view = pick_button(in_a_row(), "Look at", VIEWS, key="patient")
    if view == "output":
        outputs(broke, key="patient steps", names=NAMES)
    elif view == "stages":
        stage_figure(broke)
        pictures(broke)
    else:
        loaded = broke.case.loaded
        sound = broke.broken.sound
        held = view_run(broke.broken.run, loaded, {NAMES[0]: lambda: view_run(sound, loaded)})
        st.caption(
            "The patient's attention; under More, a head can be compared with that of the model as it should "
            "be. The arithmetic is written as it should be: where a number does not follow from those before "
            "it, you have found something."
        )
        viewer(held, key="patient_viewer", prefix="patient_")


def _guessing(options: list[Mistake], guessed: str | None, key: str, keep: Callable[[str], None]) -> None:
    """Draw the list and the button that submits a guess."""
    names = [mistake.name for mistake in options]
    clamp_choice(key, names)
    titles = {mistake.name: f"{mistake.group.capitalize()}: {mistake.title}" for mistake in options}

    def take() -> None:
        chosen = st.session_state.get(key)
        if chosen is not None:
            keep(chosen)

    with st.form("guess_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Your diagnosis",
            names,
            index=None if guessed is None else names.index(guessed),
            key=key,
            format_func=titles.__getitem__,
            placeholder="Choose one of the mistakes",
            width=560,
        )
        st.form_submit_button("That is it", on_click=take)


def _verdict(broke: Broke, guessed: Mistake, sentence: SentenceRun) -> None:
    """Name the mistake and show the evidence."""
    mistake = broke.mistake
    is_right = guessed.name == mistake.name
    with st.container(border=True):
        st.markdown(
            f"**✓ Right: {escaped(mistake.title)}.**"
            if is_right
            else f"**✕ Not quite.** You said {escaped(guessed.title)}; it is **{escaped(mistake.title)}**."
        )
        prose(escaped(mistake.what))
        symptom_numbers(broke.symptom)
        if not is_right:
            _against(broke, guessed, sentence)
    st.markdown(f"**Where to look.** {_where(broke)}")
    if first_parted(broke.changes) is not None:
        compared(broke.broken, first_changed(broke), key="verdict_picture")
    if st.button("Open this mistake in the lab", key="open", on_click=open_mistake, args=(mistake.name,)):
        st.rerun()  # the mode switch is drawn outside this fragment


def _against(broke: Broke, guessed: Mistake, sentence: SentenceRun) -> None:
    """Say what the guessed mistake would have shown."""
    other = run_or_warn(lambda: break_it(guessed, sentence), "Making your mistake too …")
    if other is None:
        return
    symptom = other.symptom
    st.markdown(
        f"With your diagnosis another number would stand out. “{escaped(symptom.what)}” would be "
        f"{written(symptom.broken, symptom.unit)}; in the model as it should be it is "
        f"{written(symptom.sound, symptom.unit)}."
    )
    first, own = first_parted(broke.changes), first_parted(other.changes)
    if first is not None and own is not None and first.path != own.path:
        st.markdown(
            f"Your mistake would change the run from here on: {in_words(own.path)}. The patient parts from "
            f"the sound model elsewhere: {in_words(first.path)}."
        )


def _where(broke: Broke) -> str:
    """Say where the runs first differ, and where they differ most."""
    first = first_parted(broke.changes)
    if first is None:
        return "No recorded number of this run differs. Look at what the model writes by itself."
    most = most_changed(broke)
    parted = (
        f"The patient has no {in_words(first.path)}"
        if first.missing
        else f"The first stage that differs is {in_words(first.path)}"
    )
    return (
        f"{parted}: all before it is equal, so the mistake is there or just before. What changes most is "
        f"{in_words(most.path, most.head)}."
    )
