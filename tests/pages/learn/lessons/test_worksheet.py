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
from tests.pages.learn.lessons.subjects import (
    SENTENCES,
    SMALL,
    open_question,
    shipped,
    subject,
    subject_of,
)
from tests.pages.learn.lessons.test_sound import questions_of
from tests.support.crosses import covering
from transformer.errors import SentenceError
from viz.figures.labels import visible
from viz.figures.numbers import number
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.row import row_of
from viz.pages.learn.lessons.files.worksheet import worksheet
from viz.pages.learn.lessons.format.parts import Lesson
from viz.pages.learn.lessons.format.questions import (
    BoardQuestion,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    TokenQuestion,
    said,
)
from viz.pages.learn.lessons.format.subject import Subject

LESSONS = lessons()
IN_THE_APP = re.compile(r"\b(clicks?|hovers?|press|drag|taps?|sliders?|try it|point at)\b", re.IGNORECASE)
"""Instructions that nobody can follow on paper."""
CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
NUMBER = re.compile(r"−?\d[\d,]*(?:\.\d+)?")


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


def asked_of(lesson: Lesson, of: Subject) -> list[tuple[Question, Subject, str]]:
    """The questions of a worksheet, each in its own turn, with what is printed for it but for its board."""
    found: list[tuple[Question, Subject, str]] = []
    for step in lesson.steps:
        own = replace(of, turn=len(found))
        question = open_question(step, own)
        if question is not None:
            options = question.options(own) if isinstance(question, ChoiceQuestion) else ()
            found.append(
                (question, own, "\n".join((said(step.text, own), said(question.asks, own), *options)))
            )
    return found


def words_of(markdown: str) -> set[str]:
    """The words that are quoted in a text, as those of the reader's run are."""
    return {word for _, quote in CODE.findall(markdown) for word in re.findall(r"\w+", quote.lower())}


def is_answered(question: Question, own: Subject, printed: str) -> bool:
    """True if a text has the right number, or both what a question is about and the right token."""
    right = question.solution(own).right
    match question:
        case NumberQuestion():
            _, _, decimals = right.split()[0].partition(".")
            # A whole number may be any other count; one with decimals is the answer, also if it has more.
            return any(
                f"{float(told.replace(',', '').replace('−', '-')):.{len(decimals)}f}".replace("-", "−")
                == right.split()[0].replace(",", "")
                for told in NUMBER.findall(printed)
                if len(told.partition(".")[2]) >= len(decimals)
            )
        case TokenQuestion():
            return words_of(said(question.asks, own)) | words_of(right) <= words_of(printed)
    return False


@pytest.mark.parametrize("name, sentence", covering(product(LESSONS, SENTENCES)))
def test_every_question_is_asked_and_its_answer_stands_on_the_last_page(name: str, sentence: str) -> None:
    of = subject("en-it", sentence)
    turns = asked_of(LESSONS[name], of)
    page = worksheet(LESSONS[name], of).decode()
    asked, _, answers = page.partition('<section class="answers">')
    assert asked.count('<div class="question">') == len(turns) == answers.count("<li>")
    boards = [question for question, _, _ in turns if isinstance(question, BoardQuestion)]
    assert asked.count('class="board"') == len(boards)
    told = text_of(f"<body>{answers}").split()
    for question, own, _ in turns:
        right = re.sub("`+", " ", question.solution(own).right).split()
        assert set(right) <= set(told), right


def test_nothing_on_the_sheet_is_answered_before_the_last_page() -> None:
    """The cells to be marked are empty, and closed ones hatched."""
    page = worksheet(LESSONS["masks"], subject("en-it", SENTENCES[0])).decode()
    board = page.partition('<table class="board"')[2].partition("</table>")[0]
    assert set(re.findall(r"<td[^>]*>(.*?)</td>", board)) == {""}


@pytest.mark.parametrize("name, sentence", covering(product(LESSONS, SENTENCES)))
def test_no_question_has_the_answer_to_another(name: str, sentence: str) -> None:
    check_apart(LESSONS[name], subject("en-it", sentence))


def test_no_question_has_the_answer_to_another_where_nothing_is_divided() -> None:
    check_apart(LESSONS["scale"], subject_of(SMALL["relative"](), "Yesterday I saw the dog."))


def check_apart(lesson: Lesson, of: Subject) -> None:
    """Check each question against what is printed for all others: on paper all can be read at once."""
    turns = asked_of(lesson, of)
    for question, own, _ in turns:
        for other, _, printed in turns:
            assert other is question or not is_answered(question, own, printed), (question.name, printed)


def test_no_question_shows_which_cells_are_open() -> None:
    """Which those are is what lesson 6 asks first."""
    of = subject("en-it", SENTENCES[0])
    printed = {question.name: printed for question, _, printed in asked_of(LESSONS["masks"], of)}
    assert set(NUMBER.findall(printed["open"])) == {str(len(of.run.target_ids))}


@pytest.mark.parametrize("name", LESSONS)
def test_what_is_asked_can_be_done_on_paper(name: str) -> None:
    of = subject("en-it", SENTENCES[0])
    texts = [said(step.text, of) for step in LESSONS[name].steps]
    texts += [
        said(question.asks, of) for question in questions_of(LESSONS[name]) if not question.pointless(of)
    ]
    assert not [text for text in texts if IN_THE_APP.search(text)]


@pytest.mark.parametrize("name", LESSONS)
def test_a_question_is_on_one_page_with_its_heading(name: str) -> None:
    page = worksheet(LESSONS[name], subject("en-it", SENTENCES[0])).decode()
    steps = re.findall(r'<section class="step"><h2>.*?</section>', page, re.DOTALL)
    assert len(steps) == len(LESSONS[name].steps) + 1, "the last is what to take away"
    assert sum(step.count('<div class="question">') for step in steps) == page.count('<div class="question">')
    assert re.search(r"\.step[^{]*\{ break-inside: avoid; \}", page)


@pytest.mark.parametrize("name", ["positions", "tokens"])
def test_hatched_cells_are_explained(name: str) -> None:
    page = worksheet(LESSONS[name], subject("en-it", SENTENCES[0])).decode()
    assert ("class=closed" in page) == ("hatched" in text_of(page)) == (name == "positions")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_question_is_about_a_row_of_its_own(sentence: str) -> None:
    """A short sentence too has four rows, if not four words."""
    of = subject("en-it", sentence)
    assert len({row_of(replace(of, turn=turn)).query for turn in range(4)}) == 4


def test_no_question_answers_another() -> None:
    """Lesson 3's products and scores are those of different rows."""
    of = subject("en-it", SENTENCES[0])
    own = [row_of(replace(of, turn=turn)) for turn in range(4)]
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
