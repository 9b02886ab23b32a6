"""A lesson as a printable HTML worksheet, with room to answer and the answers on a page of their own."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from importlib.resources import files
from string import Template

import latex2mathml.converter
import numpy as np
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from viz.figures.labels import visible
from viz.markdown import quoted
from viz.pages.learn.lessons.format.parts import Lesson
from viz.pages.learn.lessons.format.questions import (
    BoardQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    asked,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject

LONGEST = 400
"""Longest sentence printed in full, in characters."""
_CELL = {False: "<td></td>", True: '<td class="closed"></td>'}
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
dollarmath_plugin(
    _MARKDOWN, renderer=lambda formula, options: latex2mathml.converter.convert(formula), double_inline=True
)


def worksheet(lesson: Lesson, subject: Subject) -> bytes:
    """Make the worksheet of a lesson about a sentence; the user's text is escaped.

    It has no pictures: readers see them in the app once they have filled in the sheet.
    """
    title = f"{lesson.number}. {lesson.title}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        '<p class="name"><b>Name</b><span></span><b>Date</b><span></span></p>',
        _html(f"Sentence: {quoted(subject.text, LONGEST)}\n\nModel: {quoted(subject.loaded.name)}"),
    ]
    answers: list[str] = []
    for step in lesson.steps:
        own = replace(subject, turn=len(answers))
        question, reasons = asked(step.question, own)
        screen = [f"<h2>{escape(step.title)}</h2>", _html(said(step.text, own)), *map(_html, reasons)]
        if question is not None:
            number = len(answers) + 1
            screen.append(_asked(number, question, own))
            verdict = question.solution(own)
            answers.append(f"<li>{_html(f'**{verdict.right}** {verdict.reason}')}</li>")
        parts.append(f'<section class="step">{"".join(screen)}</section>')
    room = '<h2>To take away, in your own words</h2><p class="line"></p><p class="line"></p>'
    parts.append(f'<section class="step">{room}</section>')
    if answers:
        parts.append(f'<section class="answers"><h2>Answers</h2><ol>{"".join(answers)}</ol>')
        parts.append(_html(f"**To take away:** {said(lesson.takeaway, subject)}") + "</section>")
    source = files("viz.pages.learn.lessons.files") / "worksheet.html"
    template = Template(source.read_text(encoding="utf-8"))
    page = template.substitute(title=escape(title), body="\n".join(parts))
    return page.encode("utf-8", "replace")


def _html(markdown: str) -> str:
    """Convert our own Markdown to HTML; tags in it are escaped."""
    html: str = _MARKDOWN.render(markdown)
    return html


def _asked(number: int, question: Question, subject: Subject) -> str:
    match question:
        case NumberQuestion():
            room = f'<p>Answer: <span class="line number"></span> {escape(question.unit)}</p>'
        case ChoiceQuestion():
            options = "".join(f"<li>{_html(option)}</li>" for option in question.options(subject))
            room = f'<ul class="choices">{options}</ul>'
        case BoardQuestion():
            rows, _, axes = question.labels(subject)
            mark = f"Mark one cell. Rows: {axes[0]}. Columns: {axes[1]}." if rows else "Mark it."
            mark += " What is hatched can't be chosen." if np.isnan(question.board(subject)).any() else ""
            room = f"<p>{escape(mark)}</p>{_board(question, subject)}"
        case _:
            raise TypeError(type(question).__name__)
    why = '<p>Why do you think so?</p><p class="line"></p>'
    return f'<div class="question">{_html(f"**{number}.** {said(question.asks, subject)}")}{room}{why}</div>'


def _board(question: BoardQuestion, subject: Subject) -> str:
    """An empty table in which to mark a cell; cells that can't be chosen are hatched."""
    rows, columns, _ = question.labels(subject)
    closed = np.isnan(np.atleast_2d(question.board(subject)))
    labels = [f"<th>{escape(visible(label))}</th>" for label in rows]
    if not rows:
        tokens = zip(columns, closed[0], strict=True)
        return f'<ul class="board">{"".join(_token(label, is_closed) for label, is_closed in tokens)}</ul>'
    lines = "".join(
        f"<tr>{label}{''.join(map(_CELL.__getitem__, row))}</tr>"
        for label, row in zip(labels, closed, strict=True)
    )
    heads = "".join(f"<th>{escape(visible(label))}</th>" for label in columns)
    width = f"min(100%, {9 + 2.4 * len(columns):.1f}em)"
    return f'<table class="board" style="width: {width}"><tr><th></th>{heads}</tr>{lines}</table>'


def _token(label: str, is_closed: bool) -> str:
    return f"<li{' class=closed' if is_closed else ''}>{escape(visible(label))}</li>"
