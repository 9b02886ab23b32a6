"""Two heads that cost more together than the sum of what each costs alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer.analysis.interventions.heads import HeadPlace
from transformer.analysis.interventions.outcomes import outcomes
from transformer.analysis.interventions.questions import suppressed_ids
from viz.pages.learn.lessons.computed.ablation import outputs
from viz.pages.learn.lessons.computed.contest import Contest, against, asked_steps, examined_heads, off
from viz.pages.learn.lessons.format.subject import Subject

N_FIRST = 4
"""Heads that are tried as the first of a pair, each with every other one: 252 pairs of 64 heads."""


class HeadPair(NamedTuple):
    """Two heads and a word that they keep together.

    Attributes:
        contest: the word, against the next best.
        first, second: the heads.
        first_loss, second_loss: what each costs of the lead alone.
        joint_loss: what both cost.
        growth: (examined heads,) how much more each head costs once the first is off; NaN for the first.
        winner: the most probable token at the word's place with both off.
    """

    contest: Contest
    first: HeadPlace
    second: HeadPlace
    first_loss: float
    second_loss: float
    joint_loss: float
    growth: NDArray[np.float64]
    winner: int


def head_pair(subject: Subject) -> HeadPair | None:
    """The word and the pair with the largest excess over both heads' costs, as a share of the word's lead.

    Pairs that give the lead to the next best word come first. Neither head may do so alone; None if each one
    does. The first head is one of those that, without doing so, take the largest share of a lead.
    """
    return subject.kept("head pair", lambda: _head_pair(subject))


def _head_pair(subject: Subject) -> HeadPair | None:
    run, loaded, places = subject.run, subject.loaded, examined_heads(subject)
    suppressed = suppressed_ids(loaded, run)
    questions = []
    for step in asked_steps(subject):
        one = run.steps[step]
        rival = next(index for index in one.top_ids if index != one.token_id and index not in suppressed)
        questions.append(against(subject, step, rival))
    own, *others = outcomes(loaded, run, [{}, *(off(subject, [place]) for place in places)], questions)
    leads = own.numpy()  # (steps,)
    alone = leads - torch.stack(others).numpy()  # (heads, steps)
    shares = np.where(alone < leads, alone / np.maximum(leads, 1e-9), -np.inf)
    firsts = np.argsort(-shares.max(axis=1), kind="stable")[:N_FIRST].tolist()
    variants = [off(subject, [places[first], place]) for first in firsts for place in places]
    joint = leads - outcomes(loaded, run, variants, questions).numpy().reshape(len(firsts), *alone.shape)
    growth = joint - alone[firsts][:, None] - alone
    growth[range(len(firsts)), firsts] = np.nan
    best: tuple[bool, float, int, int, int] | None = None
    for number, first in enumerate(firsts):
        for at, lead in enumerate(leads.tolist()):
            if len(places) < 2:
                continue
            second = int(np.nanargmax(growth[number, :, at]))
            a, b = alone[first, at], alone[second, at]
            both = float(joint[number, second, at])
            excess = (both - max(a, 0.0) - max(b, 0.0)) / max(lead, 1e-9)
            if max(a, b) < lead and (best is None or (both > lead, excess) > best[:2]):
                best = both > lead, excess, number, second, at
    if best is None:
        return None
    _, _, number, second, at = best
    first, question = firsts[number], questions[at]
    (logits,) = outputs(subject, [off(subject, [places[first], places[second]])])
    row = logits[0, question.rows[0]].clone()
    row[list(suppressed)] = -torch.inf
    return HeadPair(
        contest=Contest(asked_steps(subject)[at], question, float(leads[at])),
        first=places[first],
        second=places[second],
        first_loss=float(alone[first, at]),
        second_loss=float(alone[second, at]),
        joint_loss=float(joint[number, second, at]),
        growth=growth[number, :, at],
        winner=int(row.argmax()),
    )
