"""One lesson on the page: its steps, one at a time."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from transformer.training.live.choices import live_plan
from viz.figures.labels import visible
from viz.glossary import linked
from viz.pages.learn.files import save_lesson
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.written import written_of
from viz.pages.learn.lessons.format.parts import (
    Contrast,
    Dial,
    Figure,
    Lesson,
    Picture,
    Shown,
    Step,
    Training,
    Viewing,
    seen,
)
from viz.pages.learn.lessons.format.questions import asked, said
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.learn.onward import onward_links
from viz.pages.learn.questions import ask
from viz.pages.learn.session import LESSON, STEP, after, note_read, open_lesson
from viz.pages.shared.attention_view import viewer
from viz.pages.shared.figure import show
from viz.pages.shared.literal_text import escaped
from viz.pages.training.live import watch
from viz.session import current_theme
from viz.text_session import WORDS, use_sentence
from viz.viewer.choice import default_choice
from viz.viewer.viewer_run import view_run
from viz.widgets import follow_default, in_a_row, pick, pick_button, set_choice

END = "To take away"
WORD = "word"
"""Key of the picker of the target token that a lesson is about."""


@st.fragment
def lesson_view(name: str, subject: Subject) -> None:
    """Draw a lesson at the reader's step."""
    if st.session_state[LESSON] != name:
        st.rerun()  # rerun the whole page: a button in this fragment opened another lesson
    lesson = lessons()[name]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(f"{lesson.number}. {lesson.title}", width="stretch")
        if not lesson.unfit(subject):
            save_lesson(name, lesson, subject)
    _offer_prepared(lesson, subject)
    if why := lesson.unfit(subject):
        st.info(why)
        _next_lesson(name)
        return
    subject = _chosen_word(lesson, subject)
    labels = {number: str(number + 1) for number in range(len(lesson.steps))} | {len(lesson.steps): END}
    step = pick_button(in_a_row(), "Step", labels, key=STEP)
    note_read(name, step)
    with st.container(key="lesson_step"):
        if step == len(lesson.steps):
            _end(name, lesson, subject)
        else:
            _step(f"{name} {step}", name, lesson.steps[step], subject)
    _steps_on(step, len(lesson.steps))


def _offer_prepared(lesson: Lesson, subject: Subject) -> None:
    """Offer the sentence that shows most, unless it is there already."""
    sentence = lesson.prepared.get(subject.loaded.name, "")
    if sentence and sentence != subject.text:
        offer = f"Use the prepared sentence: {escaped(sentence)}"
        if st.button(offer, key="prepared", on_click=use_sentence, args=(WORDS, sentence)):
            st.rerun()  # the whole page: its sentence box is outside this fragment


def _chosen_word(lesson: Lesson, subject: Subject) -> Subject:
    """Let the reader choose the target token that the lesson is about, if it offers any."""
    tokens = lesson.offers(subject)
    if len(tokens) < 2:
        return subject
    default = written_of(subject).step
    follow_default(WORD, default)
    step = pick(
        st.selectbox,
        "The word to explain",
        list(tokens),
        key=WORD,
        index=list(tokens).index(default),
        format_func=lambda step: f"{step}: {visible(tokens[step])}",
        width=250,
    )
    return subject if step == default else subject.about(step)


def _step(key: str, name: str, step: Step, subject: Subject) -> None:
    st.subheader(step.title)
    known: set[str] = set()
    if text := said(step.text, subject):
        st.markdown(linked(text, known))
    question, reasons = asked(step.question, subject)
    for why in reasons:
        st.info(linked(why))
    if step.question is not None and (question is None or not ask(name, question, subject, known)):
        return
    _shown(key, seen(step.shown, subject), subject)
    if isinstance(step.contrast, Contrast):
        labels = {case: case for case in step.contrast.cases}
        case = pick_button(st.segmented_control, step.contrast.asks, labels, key=f"{key} contrast")
        _shown(f"{key} {case}", seen(step.contrast.cases[case], subject), subject)
    elif isinstance(step.contrast, Dial):
        dial = step.contrast
        values = list(dial.values(subject))
        value = pick(
            st.select_slider,
            dial.asks,
            values,
            key=f"{key} dial",
            value=dial.first(subject),
            format_func=_written,
        )
        _shown(f"{key} at", dial.shown(subject, value), subject)


def _written(value: float) -> str:
    """A dial's value as its label."""
    return "−∞" if value == float("-inf") else f"{value:g}".replace("-", "−")


def _shown(key: str, shown: Shown, subject: Subject) -> None:
    if text := said(shown.text, subject):
        st.markdown(linked(text))
    for number, picture in enumerate(shown.pictures):
        _picture(f"{key} picture {number}", picture, subject)


def _picture(key: str, picture: Picture, subject: Subject) -> None:
    match picture:
        case Figure(draw, caption, name):
            show(draw(subject, current_theme()), name=name, caption=said(caption, subject), key=key)
        case Viewing(chosen, views):
            held = view_run(subject.run, subject.loaded, typed=(subject.text, ""))
            first = replace(default_choice(held), **chosen(subject))
            viewer(held, key=key, prefix=f"{key} ", first=first, owner=subject.text, views=views)
        case Training(task):
            watch(live_plan(task))


def _end(name: str, lesson: Lesson, subject: Subject) -> None:
    st.subheader(END)
    with st.container(border=True):
        st.markdown(f"**{linked(said(lesson.takeaway, subject))}**")
    st.markdown("Continue by yourself, with this sentence and model:")
    onward_links(lesson.onward, subject)
    _next_lesson(name)


def _next_lesson(name: str) -> None:
    following = after(name)
    if following is not None:
        other, lesson = following
        label = f"Lesson {lesson.number}: {lesson.title}"
        st.button(label, key="next_lesson", type="primary", on_click=open_lesson, args=(other,))


def _steps_on(step: int, last: int) -> None:
    with st.container(horizontal=True, key="lesson_steps"):
        st.button("Back", key="step_back", on_click=set_choice, args=(STEP, step - 1), disabled=step == 0)
        st.button("Next", key="step_next", on_click=set_choice, args=(STEP, step + 1), disabled=step == last)
