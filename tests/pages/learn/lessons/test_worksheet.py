"""A lesson on paper: every question with room to answer, the answers apart, and user text as text."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import product

import pytest

from tests.pages.app import HOSTILE
from tests.pages.learn.lessons.subjects import SENTENCES, open_question, shipped, subject, subject_of
from tests.support.crosses import covering
from transformer.errors import SentenceError
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.row import row_of
from viz.pages.learn.lessons.files.worksheet import worksheet
from viz.pages.learn.lessons.format.questions import BoardQuestion, Question
from viz.pages.learn.lessons.format.subject import Subject

LESSONS = lessons()


class Tags(HTMLParser):
    """The tags of a page, each with the number of times it is opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: dict[str, int] = {}
        self.loaded: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened[tag] = self.opened.get(tag, 0) + 1
        self.loaded += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]


def text_of(html: str) -> str:
    """The text of a page, without its formulas."""
    body = html.partition("<body>")[2]
    return unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<math.*?</math>", "", body, flags=re.DOTALL)))


@pytest.mark.parametrize("name, sentence", covering(product(LESSONS, SENTENCES)))
def test_every_question_is_asked_and_its_answer_stands_on_the_last_page(name: str, sentence: str) -> None:
    of = subject("en-it", sentence)
    turns: list[tuple[Question, Subject]] = []
    for step in LESSONS[name].steps:
        own = replace(of, turn=len(turns))
        question = open_question(step, own)
        turns += [(question, own)] if question is not None else []
    page = worksheet(LESSONS[name], of).decode()
    asked, _, answers = page.partition('<section class="answers">')
    assert asked.count('<div class="question">') == len(turns) == answers.count("<li>")
    boards = [question for question, _ in turns if isinstance(question, BoardQuestion)]
    assert asked.count('class="board"') == len(boards)
    told = text_of(f"<body>{answers}").split()
    for question, own in turns:
        right = re.sub("`+", " ", question.solution(own).right).split()
        assert set(right) <= set(told), right


def test_nothing_on_the_sheet_is_answered_before_the_last_page() -> None:
    """The cells to be marked are empty, and closed ones hatched."""
    page = worksheet(LESSONS["masks"], subject("en-it", SENTENCES[0])).decode()
    board = page.partition('<table class="board"')[2].partition("</table>")[0]
    assert set(re.findall(r"<td[^>]*>(.*?)</td>", board)) == {""}


def test_no_question_answers_another() -> None:
    """Each is about a row of its own, also in what it prints of the others' numbers."""
    of = subject("en-it", SENTENCES[0])
    own = [row_of(replace(of, turn=turn)) for turn in range(4)]
    assert len({row.query for row in own}) == 4
    asked = worksheet(LESSONS["one-head"], of).decode().partition('<section class="answers">')[0]
    score = own[1].product / math.sqrt(len(own[1].q))
    assert number(own[1].product, 2) in asked
    assert number(score, 2) not in asked


def test_formulas_become_mathml() -> None:
    page = worksheet(LESSONS["one-head"], subject("en-it", SENTENCES[0])).decode()
    assert "<msqrt>" in page
    assert "\\sqrt" not in page


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_whatever_was_typed_is_text_on_the_sheet(text: str) -> None:
    try:
        of = subject_of(shipped("en-it"), text)
    except SentenceError:
        return
    page = worksheet(LESSONS["one-head"], of).decode()
    tags = Tags(page)
    assert not {"script", "img", "a", "iframe"} & set(tags.opened)
    assert not tags.loaded
    assert visible(text, 400) in text_of(page)
