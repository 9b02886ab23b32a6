"""A lesson as a notebook: valid, without answers, and every cell of it runs."""

from __future__ import annotations

import ast
import json
from typing import Any

import nbformat
import pytest

from headlight.lessons import Checked, Output
from tests.pages.learn.lessons.subjects import SENTENCES, open_question, subject
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.files.notebook import notebook
from viz.pages.learn.lessons.format.questions import NumberQuestion

LESSONS = lessons()


def run(source: str, space: dict[str, Any]) -> object:
    """Run a cell and return the value of its last line."""
    *before, last = ast.parse(source).body
    assert isinstance(last, ast.Expr | ast.Assign)
    exec(compile(ast.Module(before, []), "cell", "exec"), space)  # noqa: S102 -- our own cells
    if isinstance(last, ast.Assign):
        exec(compile(ast.Module([last], []), "cell", "exec"), space)  # noqa: S102
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space)  # noqa: S307


@pytest.mark.parametrize("name", LESSONS)
def test_every_cell_runs_and_what_is_not_answered_is_no_mistake(name: str) -> None:
    of = subject("toy-en-it", SENTENCES[0])
    content = notebook(name, LESSONS[name], of)
    nbformat.validate(nbformat.reads(content.decode(), as_version=4))
    cells = [cell["source"] for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]
    space: dict[str, Any] = {}
    shown = [run(cell, space) for cell in cells]
    assert shown[0] is None
    assert all(isinstance(output, Output) and not isinstance(output, Checked) for output in shown[1:])
    asked = [cell for cell in cells if cell.startswith("answer = ...")]
    assert len(asked) == sum(open_question(step, of) is not None for step in LESSONS[name].steps)


@pytest.mark.parametrize("name", LESSONS)
def test_a_notebook_holds_no_answers(name: str) -> None:
    of = subject("en-it", SENTENCES[0])
    content = notebook(name, LESSONS[name], of).decode()
    for step in LESSONS[name].steps:
        question = open_question(step, of)
        if question is not None:
            assert question.solution(of).reason not in content
            if isinstance(question, NumberQuestion):
                assert f"lesson.check({json.dumps(question.name)}, answer)" in content.replace('\\"', '"')


def test_a_sentence_with_quotation_marks_stays_a_sentence() -> None:
    text = 'I said "\\n no" \'.'
    content = json.loads(notebook("tokens", LESSONS["tokens"], subject("en-it", text)))
    call = ast.parse(content["cells"][1]["source"]).body[-1]
    assert isinstance(call, ast.Assign)
    assert isinstance(call.value, ast.Call)
    assert ast.literal_eval(call.value.args[2]) == text
