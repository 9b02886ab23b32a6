"""A lesson as a notebook: its prose, its questions with empty answer cells, and self-checks."""

from __future__ import annotations

import json
import math
from typing import Any

from transformer.checkpoints.places import shipped_models
from viz.pages.learn.lessons.format.parts import Contrast, Dial, Lesson
from viz.pages.learn.lessons.format.questions import asked, said
from viz.pages.learn.lessons.format.subject import Subject


def notebook(name: str, lesson: Lesson, subject: Subject) -> bytes:
    """Make the notebook of a lesson (nbformat 4.5).

    It contains no answers: `headlight.lesson` computes them when the notebook is run.
    """
    own = subject.loaded.name
    opened = own if own in shipped_models() else f"path/to/{own}"
    model, sentence = (json.dumps(text, ensure_ascii=False) for text in (opened, subject.text))
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
        question, reasons = asked(step.question, subject)
        cells += map(_markdown, reasons)
        if question is not None:
            name_of_it = json.dumps(question.name)
            cells.append(_code(f"lesson.ask({name_of_it})"))
            cells.append(
                _code(f"answer = ...  # {question.expected(subject)}\nlesson.check({name_of_it}, answer)")
            )
        if step.question is None or question is not None:
            cells.append(_code(f"lesson.show({number})"))
            if isinstance(step.contrast, Contrast):
                cells += [_code(f"lesson.show({number}, {json.dumps(case)})") for case in step.contrast.cases]
            elif isinstance(step.contrast, Dial):
                values = ", ".join(map(_number, step.contrast.values(subject)))
                first = _number(step.contrast.first(subject))
                cells.append(_code(f"# {step.contrast.asks}: {values}\nlesson.show({number}, {first})"))
    cells.append(_markdown(f"**To take away:** {said(lesson.takeaway, subject)}"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": text}


def _number(value: float) -> str:
    """A number as a Python expression."""
    return f"{value:g}" if math.isfinite(value) else f'float("{value:g}")'
