"""Lesson 15: parts that act only together."""

from __future__ import annotations

import numpy as np

from viz.figures.bars import token_bars
from viz.figures.numbers import number
from viz.markdown import quoted
from viz.pages.learn.lessons.computed.contest import (
    board_rows,
    head_name,
    lead_question,
    on_board,
    output_without,
    undecided,
)
from viz.pages.learn.lessons.computed.pairs import HeadPair, head_pair
from viz.pages.learn.lessons.format.parts import Contrast, Figure, Lesson, Onward, Shown, Step
from viz.pages.learn.lessons.format.questions import CellQuestion, ChoiceQuestion
from viz.pages.learn.lessons.format.subject import Subject


def _pair(subject: Subject) -> HeadPair:
    found = head_pair(subject)
    assert found is not None
    return found


def _unfit(subject: Subject) -> str:
    if why := undecided(subject):
        return why
    if head_pair(subject) is not None:
        return ""
    return (
        "In this model every head that is switched off alone changes the word already, so no two of them can "
        "act only together. Type another sentence, or choose another model in the sidebar."
    )


def _own(subject: Subject) -> str:
    return quoted(_pair(subject).contest.question.label)


def _rival(subject: Subject) -> str:
    return quoted(_pair(subject).contest.question.rival)


def _reason_alone(subject: Subject) -> str:
    pair = _pair(subject)
    return (
        f"{number(pair.contest.lead - pair.first_loss, 2)} logits: it costs {number(pair.first_loss, 2)}, "
        f"and the word stays {_own(subject)}. From this alone one would say that the head does not decide "
        "the word."
    )


def _reason_second(subject: Subject) -> str:
    pair = _pair(subject)
    return (
        f"{head_name(pair.second).capitalize()}: alone it costs {number(pair.second_loss, 2)} logits; once "
        f"the first is off it costs {number(pair.joint_loss - pair.first_loss, 2)}. As long as one of the "
        "two is there, it makes up for part of what the other brings, so the loss shows only when both are "
        "missing. A head that steps in for another is called a **backup**, and what then happens "
        "**self-repair**."
    )


def _outcome(subject: Subject) -> int:
    """The index of what wins with both heads off: the word, the rival, or another."""
    pair = _pair(subject)
    question = pair.contest.question
    return 0 if pair.winner == question.ids[0] else 1 if pair.winner == question.rival_id else 2


def _reason_both(subject: Subject) -> str:
    pair = _pair(subject)
    lost = pair.first_loss + pair.second_loss
    return (
        f"Together the two cost {number(pair.joint_loss, 2)} logits of a lead of "
        f"{number(pair.contest.lead, 2)}; the sum of what each costs alone is {number(lost, 2)}. The model "
        f"now writes {quoted(output_without(subject, [pair.first, pair.second]), 200)}. Effects of parts do "
        "not add up: a table of single heads, however complete, can miss what two of them do."
    )


def _written(subject: Subject, *which: int) -> Shown:
    pair = _pair(subject)
    places = [(pair.first, pair.second)[index] for index in which]
    costs = (pair.first_loss, pair.second_loss, pair.joint_loss)
    cost = costs[2] if len(which) == 2 else costs[which[0]]
    return Shown(
        f"Off: {' and '.join(map(head_name, places))}. {_own(subject)} leads by "
        f"**{number(pair.contest.lead - cost, 2)}** logits, and the model writes "
        f"{quoted(output_without(subject, places), 200)}."
    )


def _bars(subject: Subject) -> Figure:
    pair = _pair(subject)
    values = np.array(
        [pair.first_loss, pair.second_loss, pair.first_loss + pair.second_loss, pair.joint_loss]
    )
    labels = ("the first alone", "the second alone", "their sum", "both off")
    return Figure(
        lambda _, theme: token_bars(
            values, labels, theme=theme, quantity="cost (logits of the lead)", axis="what is off"
        ),
        "What each head costs alone, the sum of that, and what both cost together.",
        "lesson-together",
    )


LESSON = Lesson(
    number=15,
    title="Parts that act only together",
    asks=("Can a head matter whose absence changes no word?",),
    unfit=_unfit,
    prepared={"en-it": "The animal didn't cross the street because it was too tired."},
    steps=(
        Step(
            "One head, and the word stays",
            lambda subject: (
                f"The model writes {quoted(subject.run.translation, 200)}. This is about {_own(subject)}, "
                f"and the next best word there, {_rival(subject)}: {_own(subject)} leads by "
                f"{number(_pair(subject).contest.lead, 2)} logits. One head is switched off: "
                f"{head_name(_pair(subject).first)}. Its output is set to zero."
            ),
            lead_question(
                name="alone",
                asks=lambda subject: f"By how many logits does {_own(subject)} lead without this head?",
                answer=lambda subject: _pair(subject).contest.lead - _pair(subject).first_loss,
                reason=_reason_alone,
            ),
        ),
        Step(
            "A second one",
            "That head stays off. Now each of the other heads is switched off as well, and its cost is "
            "compared with what it costs alone, while the first head is there.",
            CellQuestion(
                name="second",
                asks="Each cell is a head. Whose cost grows most once the first head is off?",
                rows=board_rows,
                columns=lambda subject: [f"head {head}" for head in range(subject.config.n_heads)],
                axes=("layer", "head"),
                values=lambda subject: on_board(subject, _pair(subject).growth),
                unit="growth of the cost in logits",
                reason=_reason_second,
            ),
        ),
        Step(
            "More than the sum",
            lambda subject: (
                f"Alone, the first head costs {number(_pair(subject).first_loss, 2)} logits of the lead and "
                f"the second, whose cost grows most, {number(_pair(subject).second_loss, 2)}. Now both are "
                "off."
            ),
            ChoiceQuestion(
                name="both",
                asks="What is most probable at that place now, after the same words as before?",
                options=lambda subject: [
                    f"still {_own(subject)}",
                    f"now {_rival(subject)}",
                    "a third word",
                ],
                answer=_outcome,
                reason=_reason_both,
            ),
            _bars,
            contrast=Contrast(
                "Switch off",
                {
                    "the first": lambda subject: _written(subject, 0),
                    "the second": lambda subject: _written(subject, 1),
                    "both": lambda subject: _written(subject, 0, 1),
                },
            ),
        ),
    ),
    takeaway=(
        "Parts that cost little one by one may decide a word together, so a table of single parts can miss "
        "what matters."
    ),
    onward=(
        Onward(
            "Switch off both, or any other set of parts, on Why",
            "why",
            lambda subject: {
                "section": "Switch off",
            },
        ),
    ),
)
