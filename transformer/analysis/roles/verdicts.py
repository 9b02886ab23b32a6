"""Which roles a head has learned: those that random weights don't give it and position doesn't explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.roles.definitions import DEFINITIONS, Role
from transformer.analysis.roles.scoring import Score

DEVIATIONS = 4.0
"""Standard deviations above the mean of random heads that a learned role exceeds."""
LEAST_SENTENCES = 5
"""Fewest sentences that show a learned role: the interval of fewer means nothing."""
LEAST_BEYOND = 0.1
"""Least part of a score that position must leave unexplained, for roles that are judged so."""
BY_CONTENT: tuple[Role, ...] = ("duplicate", "induction", "alignment")
"""Roles that depend on which tokens there are, and that a fixed offset may explain in part."""


@dataclass(frozen=True)
class Chance:
    """What heads with random weights reach in a role.

    Attributes:
        mean: their mean score.
        most: what the judged score of a learned role exceeds.
    """

    mean: float
    most: float


def chance(twins: Sequence[Score]) -> Chance:
    """What the heads of random models reach: at least their largest score, and four deviations."""
    beyond = torch.cat([one.beyond for one in twins]).double()
    beyond = beyond[beyond.isfinite()]
    score = torch.cat([one.score for one in twins]).double()
    if not len(beyond):
        return Chance(0.0, 0.0)
    far = float(beyond.mean() + DEVIATIONS * beyond.std(correction=0))
    return Chance(float(score[score.isfinite()].mean()), max(float(beyond.max()), far))


def strength(score: Tensor, by_chance: Chance) -> Tensor:
    """How far a score is above chance, as a share of what is possible (as in Cohen's kappa)."""
    return (score - by_chance.mean) / max(1 - by_chance.mean, 1e-6)


def learned(role: Role, score: Score, by_chance: Chance) -> Tensor:
    """True for the heads that have learned a role: (H,)."""
    definition = DEFINITIONS[role]
    if score.n < LEAST_SENTENCES:
        return torch.zeros(len(score.score), dtype=torch.bool)
    is_learned = (strength(score.score, by_chance) >= definition.floor) & (score.beyond_low > by_chance.most)
    return is_learned & (score.beyond >= LEAST_BEYOND) if definition.goes_beyond else is_learned


def learned_roles(scores: dict[Role, Score], chances: dict[Role, Chance], head: int) -> list[Role]:
    """A head's learned roles, the main one first; empty for a head that has learned none.

    The main role is the one with the largest `strength`, with three exceptions. A fixed offset comes after a
    role of content that goes beyond it: between languages of similar word order an alignment is nearly a
    diagonal. Position as a whole, and copying, which says nothing about where a head looks, come last. A
    fixed offset that is the previous, next or same token is not listed twice.
    """
    own = [role for role in scores if bool(learned(role, scores[role], chances[role])[head])]
    named = {-1: "previous", 0: "same", 1: "next"}
    if "offset" in own and named.get(int(scores["offset"].detail[head])) in own:
        own.remove("offset")
    has_content = any(role in own for role in BY_CONTENT)

    def order(role: Role) -> tuple[bool, bool, float]:
        is_side_effect = role == "offset" and has_content
        own_strength = float(strength(scores[role].score, chances[role])[head])
        return role in ("position", "copying"), is_side_effect, -own_strength

    return sorted(own, key=order)
