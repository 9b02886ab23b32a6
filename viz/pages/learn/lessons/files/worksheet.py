"""A lesson as a worksheet: HTML to print, with room to answer, and the answers on a page of their own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

import latex2mathml.converter
import numpy as np
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from viz.figures.labels import visible
from viz.markdown import quoted
from viz.pages.learn.lessons.format.judging import board_values, solution
from viz.pages.learn.lessons.format.parts import (
    CellQuestion,
    ChoiceQuestion,
    Lesson,
    NumberQuestion,
    Question,
    TokenQuestion,
    asked,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject

LONGEST = 400
"""Characters of the sentence."""
_CELL = {False: "<td></td>", True: '<td class="closed"></td>'}
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
dollarmath_plugin(
    _MARKDOWN, renderer=lambda formula, options: latex2mathml.converter.convert(formula), double_inline=True
)


def worksheet(lesson: Lesson, subject: Subject) -> bytes:
    """Make the worksheet of a lesson about a sentence. What the user typed is data in it.

    It has no pictures: those are what the reader goes to the app for, once the sheet is filled in.
    """
    title = f"{lesson.number}. {lesson.title}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        '<p class="name"><b>Name</b><span></span><b>Date</b><span></span></p>',
        _html(f"The sentence: {quoted(subject.text, LONGEST)}. The model: {quoted(subject.loaded.name)}."),
    ]
    answers: list[str] = []
    for step in lesson.steps:
        question, reasons = asked(step.question, subject)
        parts += [f"<h2>{escape(step.title)}</h2>", _html(said(step.text, subject)), *map(_html, reasons)]
        if question is not None:
            number = len(answers) + 1
            parts.append(_asked(number, question, subject))
            verdict = solution(question, subject)
            answers.append(f"<li>{_html(f'**{verdict.right}** {verdict.reason}')}</li>")
    parts.append('<h2>To take away, in your own words</h2><p class="line"></p><p class="line"></p>')
    if answers:
        parts.append(f'<section class="answers"><h2>Answers</h2><ol>{"".join(answers)}</ol>')
        parts.append(_html(f"**To take away:** {said(lesson.takeaway, subject)}") + "</section>")
    source = files("viz.pages.learn.lessons.files") / "worksheet.html"
    template = Template(source.read_text(encoding="utf-8"))
    page = template.substitute(title=escape(title), body="\n".join(parts))
    return page.encode("utf-8", "replace")


def _html(markdown: str) -> str:
    """Markdown of ours as HTML: tags in it are text."""
    html: str = _MARKDOWN.render(markdown)
    return html


def _asked(number: int, question: Question, subject: Subject) -> str:
    match question:
        case NumberQuestion():
            room = f'<p>Answer: <span class="line number"></span> {escape(question.unit)}</p>'
        case ChoiceQuestion():
            options = "".join(f"<li>{_html(option)}</li>" for option in question.options(subject))
            room = f'<ul class="choices">{options}</ul>'
        case TokenQuestion():
            room = "<p>Mark one token.</p>" + _board(None, question.tokens(subject), question, subject)
        case CellQuestion():
            said_axes = f"Mark one cell. Rows: {question.axes[0]}. Columns: {question.axes[1]}."
            board = _board(question.rows(subject), question.columns(subject), question, subject)
            room = f"<p>{escape(said_axes)}</p>{board}"
        case _:
            raise TypeError(type(question).__name__)
    why = '<p>Why do you think so?</p><p class="line"></p>'
    return f'<div class="question">{_html(f"**{number}.** {said(question.asks, subject)}")}{room}{why}</div>'


def _board(
    rows: Sequence[str] | None,
    columns: Sequence[str],
    question: TokenQuestion | CellQuestion,
    subject: Subject,
) -> str:
    """An empty table to mark a cell in; what can't be marked is hatched."""
    closed = np.isnan(np.atleast_2d(board_values(question, subject)))
    labels = [""] * len(closed) if rows is None else [f"<th>{escape(visible(label))}</th>" for label in rows]
    lines = "".join(
        f"<tr>{label}{''.join(map(_CELL.__getitem__, row))}</tr>"
        for label, row in zip(labels, closed, strict=True)
    )
    corner = "" if rows is None else "<th></th>"
    heads = "".join(f"<th>{escape(visible(label))}</th>" for label in columns)
    return f'<div class="wide"><table class="board"><tr>{corner}{heads}</tr>{lines}</table></div>'
