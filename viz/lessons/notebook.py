"""A lesson as a notebook: its prose, its questions with empty answer cells, and self-checks."""

from __future__ import annotations

import json
from typing import Any

from viz.lessons.parts import (
    CellQuestion,
    ChoiceQuestion,
    Contrast,
    Lesson,
    NumberQuestion,
    Question,
    TokenQuestion,
    said,
)
from viz.lessons.subject import Subject

_HOW = {
    NumberQuestion: "a number",
    ChoiceQuestion: "the number of an option, from 0",
    TokenQuestion: "the position of a token, from 0",
    CellQuestion: "[row, column], both from 0",
}


def notebook(name: str, lesson: Lesson, subject: Subject) -> bytes:
    """Make the notebook of a lesson (nbformat 4.5).

    Nothing in it is answered: `headlight.lesson` computes what is right when it is run.
    """
    model, sentence = json.dumps(subject.loaded.name), json.dumps(subject.text, ensure_ascii=False)
    cells = [
        _markdown(
            f"# {lesson.number}. {lesson.title}\n\n" + "\n".join(f"- {question}" for question in lesson.asks)
        ),
        _code(
            "import headlight\n"
            "\n"
            f"lesson = headlight.lesson({json.dumps(name)}, headlight.open({model}), {sentence})"
        ),
    ]
    for number, step in enumerate(lesson.steps):
        cells.append(_markdown(f"## {step.title}\n\n{said(step.text, subject)}".rstrip()))
        question = _question(step.question, subject)
        if question is not None:
            asked = json.dumps(question.name)
            cells.append(_code(f"lesson.ask({asked})"))
            cells.append(_code(f"answer = ...  # {_HOW[type(question)]}\nlesson.check({asked}, answer)"))
        if step.question is None or question is not None:
            cells.append(_code(f"lesson.show({number})"))
            if isinstance(step.contrast, Contrast):
                cells += [_code(f"lesson.show({number}, {json.dumps(case)})") for case in step.contrast.cases]
    cells.append(_markdown(f"**To take away:** {said(lesson.takeaway, subject)}"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def _question(question: Question | None, subject: Subject) -> Question | None:
    while question is not None and question.pointless(subject):
        question = question.instead
    return question


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
