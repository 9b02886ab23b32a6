"""The model's translation of another sentence, forced on the reader's: a hallucination made to order."""

from __future__ import annotations

from typing import NamedTuple

from transformer.analysis.attribution.source_share import SourceShare, source_share
from transformer.analysis.interventions.questions import Question, word_questions
from transformer.errors import SentenceError
from transformer.run import Run, force, generate, run_sentence
from viz.pages.learn.lessons.format.subject import Subject

OTHERS = ("The train leaves at half past seven.", "My brother has two black cats.")
"""The other sentences: the first is taken that is not the reader's own."""


class Sourced(NamedTuple):
    """The words of an output, and where they came from.

    Attributes:
        words: the output's words that have a letter or digit; all if there are none.
        shares: their log-probabilities, gains and shares.
    """

    words: tuple[Question, ...]
    shares: SourceShare


class Foreign(NamedTuple):
    """Another sentence, and its translation forced on the reader's.

    Attributes:
        text: the other sentence.
        run: the reader's sentence with the other's translation.
    """

    text: str
    run: Run


def own_words(subject: Subject) -> Sourced:
    """The words of the model's own output."""
    return subject.kept("own words' source", lambda: _sourced(subject, subject.run))


def foreign(subject: Subject) -> Foreign:
    """The other sentence's translation, forced on the reader's sentence."""
    return subject.kept("foreign", lambda: _foreign(subject))


def foreign_words(subject: Subject) -> Sourced:
    """The words of the other sentence's translation, forced on the reader's sentence."""
    return subject.kept("foreign words' source", lambda: _sourced(subject, foreign(subject).run))


def _foreign(subject: Subject) -> Foreign:
    loaded, run = subject.loaded, subject.run
    text = next(one for one in OTHERS if one.casefold() != subject.text.strip().casefold())
    try:
        other = run_sentence(loaded, text)
    except SentenceError:
        # A model that reads ids: the same ones, from the end.
        other = generate(loaded, loaded.source.describe_ids(list(run.source.ids)[::-1]))
        text = loaded.source.decode(other.source.ids)
    room = loaded.model.config.max_len - (len(run.target_ids) - len(run.target.ids))
    target = loaded.target.describe_ids(other.target.ids[:room])
    ends = other.finished and len(target.ids) == len(other.target.ids)
    return Foreign(text, force(loaded, run.source, target, ends=ends))


def _sourced(subject: Subject, run: Run) -> Sourced:
    every = word_questions(subject.loaded, run)
    words = tuple(one for one in every if _is_word(subject, one)) or tuple(every)
    return Sourced(words, source_share(subject.loaded, run, words))


def _is_word(subject: Subject, word: Question) -> bool:
    return any(map(str.isalnum, word.label)) and not set(word.ids) <= set(subject.loaded.end_ids)
