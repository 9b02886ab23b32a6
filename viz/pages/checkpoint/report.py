"""A checkpoint's files, open questions, settings with their sources, parameters and misfit names."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import streamlit as st

from transformer.analysis.doctor.answers import Weighing
from transformer.analysis.parts import Part, parts_of, total
from transformer.checkpoints.importing.report import LAYOUT, Imported, KeyProblem, Question
from transformer.errors import CheckpointError
from viz.figures.labels import visible
from viz.opened_checkpoint import is_opened
from viz.pages.checkpoint.answers import figures, measured
from viz.pages.checkpoint.session import InspectedModel
from viz.pages.shared.literal_text import escaped, literal, refused
from viz.pages.shared.model_words import count
from viz.pages.shared.why_button import WHY
from viz.session import checkpoint_slot, current_choice, use_next

_NAME = 200
_MOST_FILES = 20
SOURCES = {
    "config": "its configuration",
    "shapes": "the shapes of its tensors",
    "answer": "you",
    "assumed": "assumed",
    "layout": "all models of its kind",
}


def what_it_is(imported: Imported) -> None:
    """Draw the facts in a row, the files, and any notes."""
    report, raw = imported.report, imported.raw
    parts = parts_of(report.config)
    facts = {
        "Kind": report.config.kind,
        "Layout": report.family_label,
        "Format": raw.format,
        "Parameters": count(total(parts)),
        "Tensors": f"{len(raw.tensors):,}",
        "On disk": f"{raw.n_bytes / 1e6:.1f} MB" if raw.n_bytes >= 1e6 else f"{raw.n_bytes / 1e3:.1f} kB",
    }
    with st.container(horizontal=True, gap="medium"):
        for name, value in facts.items():
            with st.container(width="content", gap=None):
                st.caption(name)
                st.text(visible(value, _NAME))
    files = [*(file.name for file in raw.files), *raw.texts]
    literal(f"Files: {', '.join(files[:_MOST_FILES])}{' …' if len(files) > _MOST_FILES else ''}")
    for note in report.notes:
        with st.container(border=True):
            literal(note)
    if raw.left_out:
        left_out = (f"{name} ({count:,} tensors)" for name, count in raw.left_out.items())
        literal(f"Left out because they are not part of the model: {', '.join(left_out)}")


def with_words(name: str, imported: Imported) -> None:
    """Offer a model that writes words on the page that says which of its heads matter for them."""
    if imported.loaded is None or not imported.report.config.has_generator:
        return
    label = "Which of its heads matter, and for which word?"
    if st.button(label, key="why_checkpoint", on_click=use_next, args=(name,)):
        st.switch_page(WHY, query_params={})


def questions(model: InspectedModel) -> None:
    """Draw controls for what the files leave open; a changed answer reopens the checkpoint."""
    asked = model.imported.report.questions
    if not asked or not is_opened(model.name):
        return
    st.header("Open questions")
    st.markdown(
        "You have answered these. Another answer opens the model again."
        if all(question.answered for question in asked)
        else "The likely answer comes first and was assumed. If it is wrong, so is everything you see: "
        "check it."
    )
    weighing = measured(model)
    with st.form("checkpoint_questions"):
        answers = {question.name: _answer(model.name, question, weighing) for question in asked}
        pressed = st.form_submit_button("Reopen with these answers")
    if not pressed:
        return
    family = model.imported.report.family
    if answers.get(LAYOUT, family) != family:
        answers = {LAYOUT: answers[LAYOUT]}  # another layout has other questions
    was_used = current_choice().name == model.name
    try:
        with st.spinner("Reopening it …", show_time=True):
            again = checkpoint_slot().answer(answers)
    except CheckpointError as error:
        refused("These answers make no model.", error)
        return
    if was_used:
        use_next(again.name)
    st.rerun()


def _answer(model: str, question: Question, weighing: Weighing | None) -> object:
    labels = {question.value: str(question.value)} if question.answered else {}
    labels |= {option.value: option.label for option in question.options}
    options = list(labels)
    is_number = isinstance(question.value, int | float) and not isinstance(question.value, bool)
    literal(f"{question.text} {question.why}")
    figures(weighing, question)
    return st.selectbox(
        escaped(question.name),
        options,
        index=options.index(question.value),
        format_func=lambda value: visible(labels.get(value, str(value)), _NAME),
        accept_new_options=is_number,
        help="Choose, or type another number" if is_number else None,
        key=f"answer {question.name} {model}",
    )


def parameters(imported: Imported) -> None:
    """Draw the number of parameters of each part, layer by layer."""
    parts = parts_of(imported.report.config)
    everything = total(parts)
    rows = [
        {"part": part.path, "parameters": part.n_parameters, "share": 100 * part.n_parameters / everything}
        for part in _down(parts, 2)
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={
            "part": st.column_config.TextColumn("part, with everything in it", width="large"),
            "parameters": st.column_config.NumberColumn(format="localized"),
            "share": st.column_config.ProgressColumn(
                "share", format="%.1f %%", min_value=0, max_value=100, color="primary"
            ),
        },
    )


def _down(parts: tuple[Part, ...], depth: int) -> Iterator[Part]:
    """Parts and their parts: stacks, layers (without the list that contains them), sublayers."""
    for part in parts:
        if part.name == "layers":
            yield from _down(part.parts, depth)
            continue
        yield part
        if depth > 0:
            yield from _down(part.parts, depth - 1)


def settings(imported: Imported) -> None:
    """Draw each value of the configuration and its source."""
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "setting": one.name,
                    "value": visible(str(one.value), _NAME),
                    "source": SOURCES[one.source],
                    "how": visible(one.why, _NAME),
                }
                for one in imported.report.settings
            ]
        ),
        hide_index=True,
    )


def keys(imported: Imported) -> None:
    """Draw the names that did not fit, each with the most similar known names."""
    report = imported.report.keys
    kinds = {
        "missing": report.missing,
        "unexpected": report.unexpected,
        "of another shape": report.misshaped,
    }
    rows = [_row(kind, problem) for kind, problems in kinds.items() for problem in problems]
    rows += [
        {
            "tensor": visible(one.name, _NAME),
            "is": "not used",
            "looks like": "",
            "detail": visible(one.reason, _NAME),
        }
        for one in report.unused
    ]
    if not rows:
        st.caption(f"All {len(imported.raw.tensors):,} tensors of the files were used, and none is missing.")
        return
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def _row(kind: str, problem: KeyProblem) -> dict[str, str]:
    return {
        "tensor": visible(problem.name, _NAME),
        "is": kind,
        "looks like": ", ".join(visible(name, _NAME) for name in problem.nearest),
        "detail": visible(problem.detail, _NAME),
    }
