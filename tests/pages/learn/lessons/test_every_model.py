"""Every lesson on every kind of model: complete, or it says why it is unfit; nothing typed is Markdown."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest

from tests.pages.app import HOSTILE
from tests.pages.learn.lessons.subjects import SENTENCES, SMALL, everything_of, subject, subject_of
from tests.support.crosses import covering
from transformer.checkpoints.random_model import with_norms
from transformer.loaded import LoadedModel
from viz.pages.learn.lessons import lessons
from viz.pages.learn.lessons.computed.twins import random_twin
from viz.pages.learn.lessons.format.subject import Subject

LESSONS = lessons()
TYPED = {
    **{
        name: HOSTILE[name]
        for name in ("script", "bold", "formula", "directive", "remote picture", "control")
    },
    "ticks": "a ` cat `` and ``` dogs ``",
    "table": "a|b | c \\| d",
    "heading": "# cat",
}
MARKUP = ("<", ">", "▁", "$x$", "$$", ":red", ":material", ":smile", "example.com", "](", "\x1b", "\x07")
"""Parts of a hostile text, or of a model's tokens, that would do something outside a span of code."""
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
ABOUT_A_WORD = ("reason", "patches", "together", "hallucination")
"""Lessons about a word of the model's own choice; "patches" needs one that an exchanged word changes."""
MOST_TOKENS = 40
"""The page says of longer sentences that they are too long."""


@cache
def small(kind: str) -> LoadedModel:
    return SMALL[kind]()


@cache
def small_subject(kind: str, text: str) -> Subject:
    return subject_of(small(kind), text)


def check(name: str, of: Subject) -> list[str]:
    """All texts of a lesson, or the reason why it does not apply."""
    lesson = LESSONS[name]
    if why := lesson.unfit(of):
        assert why.endswith((".", "?"))
        return [why]
    return [text for text in everything_of(lesson, of) if text]


@pytest.mark.parametrize("name, kind", covering(product(LESSONS, SMALL)))
def test_all_of_a_lesson_is_made_on_every_kind_of_model(name: str, kind: str) -> None:
    for text in ("Yesterday I saw the dog.", "cat"):
        assert all("nan" not in told.lower().split() for told in check(name, small_subject(kind, text)))


@pytest.mark.slow
@pytest.mark.parametrize("text", [SENTENCES[0], "i", "the cat", "the zebra wexed a qwzx."])
def test_all_of_a_lesson_is_made_of_short_sentences_and_unknown_words(text: str) -> None:
    assert all(check(name, subject("toy-en-it", text)) for name in LESSONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_all_of_a_lesson_is_made_on_the_large_model(name: str) -> None:
    assert check(name, subject("en-it", SENTENCES[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_all_of_a_lesson_is_made_on_random_weights(name: str) -> None:
    trained = subject("toy-en-it", SENTENCES[0])
    assert check(name, subject_of(random_twin(trained, with_norms(trained.config, "post")), SENTENCES[0]))


def test_a_lesson_is_unfit_where_its_model_lacks_what_it_is_about() -> None:
    unfit = {
        kind: {n for n in LESSONS if LESSONS[n].unfit(small_subject(kind, "The dog saw a cat."))}
        for kind in SMALL
    }
    assert unfit == {
        "prompted": set(),
        "rotary": set(),
        "masked": {"decoder", "sentence", *ABOUT_A_WORD},
        "reader": {"decoder", "sentence", *ABOUT_A_WORD},
        "relative": set(),
        "languages": set(),
        "stacks": {"positions", "sentence", *ABOUT_A_WORD},
        "capped": {"scale", "patches"},
        "parallel": set(),
        "shared": {"decoder", "sentence", "patches", "hallucination"},
        "factors": {"patches"},
        "shifted": {"patches"},
        "alibi": {"patches"},
        "output_norms": set(),
        "own_biases": {"patches"},
        "local": {"decoder", "sentence", "hallucination"},
        "experts": set(),
        "words": set(),
        "sub-words": set(),
    }


@pytest.mark.parametrize("name, typed", covering(product(LESSONS, TYPED)))
def test_what_is_typed_comes_out_as_a_span_of_code_only(name: str, typed: str) -> None:
    of = subject("toy-en-it", TYPED[typed])  # whose tokens are the words as typed
    assert len(of.run.trace.src_tokens[0]) <= MOST_TOKENS
    for text in check(name, of):
        outside = CODE.sub("", text)
        assert "`" not in outside, text
        assert not [sign for sign in MARKUP if sign in outside], text
