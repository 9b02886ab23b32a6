"""The glossary: the form of its entries, and where terms become links."""

import ast
import re
from pathlib import Path

import pytest

from viz.glossary import linked
from viz.pages.learn.lessons import lessons
from viz.terms import TERMS, Term

PRODUCT = Path(__file__).resolve().parents[2] / "viz"
LINK = re.compile(r'\[([^\]]+)\]\(#lesson-([\w-]+) "(.*?)"\)')
TEXTS = {term.name: term.text for term in TERMS}


def explained(markdown: str) -> list[str]:
    """The words that became links, as they are written."""
    return [found[1] for found in LINK.finditer(markdown)]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_has_two_sentences_and_a_lesson(term: Term) -> None:
    assert len(re.findall(r"[.?!](?= [A-Z0-9]|$)", term.text)) == 2, term.text
    assert term.lesson in lessons()
    assert '"' not in term.text  # it would end the link's title


def test_no_two_terms_are_written_alike() -> None:
    forms = [form.lower() for term in TERMS for form in (term.name, *term.forms)]
    assert len(forms) == len(set(forms))


def test_every_term_stands_on_some_page() -> None:
    files = [*(PRODUCT / "lessons").rglob("*.py"), *(PRODUCT / "pages").rglob("*.py")]
    prose = [
        node.value
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    shown = {found[3] for text in prose for found in LINK.finditer(linked(text))}
    assert [name for name, text in TEXTS.items() if text not in shown] == []


def test_the_first_mention_of_a_term_is_explained_with_its_lesson() -> None:
    assert linked("A query, and queries.") == f'A [query](#lesson-one-head "{TEXTS["query"]}"), and queries.'


def test_plurals_capitals_and_other_forms_are_terms_too() -> None:
    assert explained(linked("Keys and VALUES, entropies, beam search")) == [
        "Keys",
        "VALUES",
        "entropies",
        "beam search",
    ]


def test_the_longest_term_counts() -> None:
    assert explained(linked("the layer norm of a layer")) == ["layer norm", "layer"]


@pytest.mark.parametrize(
    "text",
    [
        "`query`",
        "``x`query ` key``",
        "$query$",
        "[the query](https://example.org)",
        "keyboard, tokenizer, pre-key",
        "the arrow keys",
    ],
)
def test_what_is_no_mention_stays(text: str) -> None:
    assert linked(text) == text


def test_after_a_token_in_code_terms_are_found_again() -> None:
    assert explained(linked("``a`key`` is a query")) == ["query"]


def test_what_was_explained_above_stays_as_it_is() -> None:
    known: set[str] = set()
    assert explained(linked("a query", known)) == ["query"]
    assert explained(linked("a query and a key", known)) == ["key"]
