"""Save a lesson as a file; save a reader's answers and open them again."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from transformer.checkpoints.places import shipped_models
from viz.pages.learn.lessons.files.notebook import notebook
from viz.pages.learn.lessons.files.progress import (
    FILE,
    FILE_KIND,
    Progress,
    read_progress,
    write_progress,
)
from viz.pages.learn.lessons.files.worksheet import worksheet
from viz.pages.learn.lessons.format.parts import Lesson
from viz.pages.learn.lessons.format.subject import Subject
from viz.pages.learn.session import progress
from viz.pages.shared.literal_text import escaped, refused
from viz.pages.shared.saved_file import save_button
from viz.saved_data import SavedDataError
from viz.session import current_choice, use_next
from viz.text_session import WORDS, use_sentence

SHEET_NOTE = "To print: the questions about this sentence, room to answer, and the answers on the last page."
NOTEBOOK_NOTE = "For Jupyter: empty cells for the answers, and the checks of them."
NO_NOTEBOOK = (
    "A notebook opens its model by name or path, and a random one has neither. Choose a trained one."
)
UPLOAD_NOTE = "As saved here. Nothing in it is run; of two answers to a question the file's counts."
_UPLOADS = "uploads of answers"


def save_lesson(name: str, lesson: Lesson, subject: Subject) -> None:
    """Offer a lesson as a worksheet and as a notebook."""
    file = f"headlight-lesson-{lesson.number}-{name}"
    with st.popover("Save", key="save_lesson", width="content", wrap=False, help="Save this lesson"):
        save_button(
            "Worksheet",
            lambda: worksheet(lesson, subject),
            file_name=f"{file}.html",
            mime="text/html",
            key="save_worksheet",
        )
        st.caption(SHEET_NOTE)
        if current_choice().random is not None:
            st.caption(NO_NOTEBOOK)
            return
        save_button(
            "Notebook",
            lambda: notebook(name, lesson, subject),
            file_name=f"{file}.ipynb",
            mime="application/x-ipynb+json",
            key="save_notebook",
        )
        st.caption(NOTEBOOK_NOTE)


def come_back() -> None:
    """Offer to save what was read and answered, and to open such a file."""
    with st.expander("Come back another day", key="come_back"):
        st.markdown(
            "What you have read and answered is kept while this page is open in your browser, and nowhere "
            "else. A small file keeps it longer."
        )
        kept = progress()
        if kept.answers or kept.read:
            save_button(
                f"Save my answers ({len(kept.answers)})",
                lambda: write_progress(progress()),
                file_name=FILE,
                mime="application/json",
                key="save_answers",
            )
        _open_file()


def _open_file() -> None:
    uploads = st.session_state.setdefault(_UPLOADS, 0)
    file = st.file_uploader(
        "Open a file of answers",
        type=["json"],
        max_upload_size=-(-FILE_KIND.largest // 1_000_000),
        key=f"answers_file_{uploads}",
        help=UPLOAD_NOTE,
    )
    if file is None:
        return
    try:
        found = read_progress(file.getvalue())
    except SavedDataError as error:
        refused("This can't be opened.", error)
        return
    st.markdown(
        f"**{escaped(file.name)}** has {_counted(len(found.answers), 'answer')} and "
        f"{_counted(len(found.read), 'step')} that you have read."
    )
    st.button("Open them", key="take_answers", on_click=_take, args=(found,), type="primary")


def _take(found: Progress) -> None:
    """Merge a file's answers, and switch to the model and sentence that most of them are about."""
    progress().take(found)
    st.session_state[_UPLOADS] += 1  # a new, empty uploader
    about = Counter((given.model, given.text) for given in found.answers.values()).most_common(1)
    for (model, text), _ in about:
        if model in shipped_models():
            use_next(model)
            use_sentence(WORDS, text)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
