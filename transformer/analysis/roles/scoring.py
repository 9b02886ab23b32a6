"""Scores of heads from their sums, with intervals over sentences (bootstrap)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention_maps import Attention
from transformer.analysis.roles.definitions import DEFINITIONS, INDEX, ROLES, Role
from transformer.analysis.roles.sums import Sums
from transformer.analysis.roles.targets import N_BINS, WINDOW

N_RESAMPLES = 400
AT_ONCE = 50
LEVEL = 0.95
LEAST_SHARE = 0.3
"""Share of rows in which a distance must be possible to be a head's fixed offset."""
FLAT = 1e-4
"""Variance per row that is added to the whole: position explains nothing of a map that is uniform."""


@dataclass(frozen=True)
class Score:
    """One role's scores for the H heads of an attention; NaN where it was not measured.

    Attributes:
        score, low, high: the score and its interval over sentences: (H,).
        beyond, beyond_low: the score minus what position alone explains, and its lower end; for roles that
            are not judged so, the score itself: (H,).
        detail: (H,) the offset's distance; for alignment, 0 where the position that writes a word gives more
            and 1 where the one that reads it does.
        n: sentences that have cells of the role.
    """

    score: Tensor
    low: Tensor
    high: Tensor
    beyond: Tensor
    beyond_low: Tensor
    detail: Tensor
    n: int


@dataclass(frozen=True)
class _Ratio:
    """Sums per sentence and head whose ratio is a score: (n, H) each."""

    over: Tensor
    under: Tensor


def scores(sums: Sums, attention: Attention, seed: int) -> dict[Role, Score]:
    """The scores of each role that the sentences could show, of all heads."""
    sums = in_double(sums)
    means = mean_profile(sums)
    offset = best_offset(sums, attention)
    found: dict[Role, Score] = {}
    for role in ROLES:
        number, detail = INDEX.get(role, -1), torch.zeros(sums.profile.shape[1])
        if role == "offset":
            place = (offset + WINDOW + 1)[None, :, None].expand(len(sums), -1, 1)
            spread = sums.open[:, None].expand_as(sums.profile)
            ratio = _Ratio(sums.profile.gather(-1, place)[..., 0], spread.gather(-1, place)[..., 0])
            detail = offset
        elif role == "position":
            ratio = _position(sums, means)
        elif role == "alignment":
            writing, reading = (_role_ratio(sums, INDEX[name]) for name in ("writing", "reading"))
            detail = (_mean(reading) > _mean(writing)).long()
            number = INDEX["writing"]
            ratio = _Ratio(
                torch.where(detail > 0, reading.over, writing.over),
                torch.where(detail > 0, reading.under, writing.under),
            )
        else:
            ratio = _role_ratio(sums, number)
        if not bool(ratio.under.any()):
            continue
        beyond = ratio
        if DEFINITIONS[role].goes_beyond:
            explained = _explained(sums, means, number)
            if role == "alignment":
                explained = torch.where(detail > 0, _explained(sums, means, INDEX["reading"]), explained)
            beyond = _Ratio(ratio.over - explained, ratio.under)
        low, high = interval(ratio, seed)
        if role == "position":  # less than 0 is worse than uniform attention: nothing is explained
            low, high = low.clamp(min=0), high.clamp(min=0)
        found[role] = Score(
            score=_mean(ratio).clamp(min=0),
            low=low,
            high=high,
            beyond=_mean(beyond).clamp(min=0) if role == "position" else _mean(beyond),
            beyond_low=low if beyond is ratio else interval(beyond, seed)[0],
            detail=detail,
            n=int((ratio.under > 0).any(dim=-1).sum()),
        )
    return found


def in_double(sums: Sums) -> Sums:
    """The same sums in float64."""
    tensors = sums.tensors("")
    return Sums.of(
        {name: value.double() if value.is_floating_point() else value for name, value in tensors.items()}, ""
    )


def mean_profile(sums: Sums) -> Tensor:
    """Mean weight at each distance, over all sentences but one's own: (n, H, B).

    With a single sentence it is that sentence's own.
    """
    own = 0 if len(sums) == 1 else 1
    profile = sums.profile.sum(dim=0) - own * sums.profile
    cells = sums.open.sum(dim=0) - own * sums.open
    return profile / cells.clamp(min=1)[:, None]


def best_offset(sums: Sums, attention: Attention) -> Tensor:
    """The distance that gets most weight where it is possible: (H,)."""
    cells = sums.open.sum(dim=0)
    mean = sums.profile.sum(dim=0) / cells.clamp(min=1)  # (H, B)
    is_usual = cells >= LEAST_SHARE * cells.max()
    is_usual[[0, N_BINS - 1]] = False
    mean = torch.where(is_usual, mean, -1.0)
    return mean.argmax(dim=-1) - WINDOW - 1


def _role_ratio(sums: Sums, number: int) -> _Ratio:
    given = sums.given[:, number]
    return _Ratio(given, sums.rows[:, number, None].expand_as(given))


def _explained(sums: Sums, means: Tensor, number: int) -> Tensor:
    """The weight that the mean at each distance puts on a measure's cells: (n, H)."""
    return torch.einsum("nb,nhb->nh", sums.counted[:, number], means)


def _position(sums: Sums, means: Tensor) -> _Ratio:
    """How much of the variance around uniform attention the mean at each distance explains."""
    left = (
        sums.squares
        - 2 * (sums.profile * means).sum(dim=-1)
        + (sums.open[:, None] * means.square()).sum(dim=-1)
    )
    whole = sums.squares - sums.uniform[:, None]
    rows = sums.open[:, WINDOW + 1, None].clamp(min=1)
    return _Ratio(whole - left, whole.clamp(min=0) + FLAT * rows)


def _mean(ratio: _Ratio) -> Tensor:
    under = ratio.under.sum(dim=0)
    return torch.where(under > 0, ratio.over.sum(dim=0) / under.clamp(min=1e-12), torch.nan)


def interval(ratio: _Ratio, seed: int) -> tuple[Tensor, Tensor]:
    """The bootstrap interval of a ratio of sums: sentences are drawn with replacement (Efron 1979)."""
    drawn = []
    for counts in _draws(len(ratio.over), seed):
        under = counts @ ratio.under
        drawn.append(torch.where(under > 0, (counts @ ratio.over) / under.clamp(min=1e-12), torch.nan))
    all_drawn = torch.cat(drawn)  # (resamples, H)
    tail = (1 - LEVEL) / 2
    return all_drawn.nanquantile(tail, dim=0), all_drawn.nanquantile(1 - tail, dim=0)


def _draws(n: int, seed: int) -> Iterator[Tensor]:
    """How often each of n sentences is drawn, for some resamples at a time: (resamples, n)."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(N_RESAMPLES // AT_ONCE):
        drawn = torch.randint(n, (AT_ONCE, n), generator=generator)
        yield torch.zeros(AT_ONCE, n, dtype=torch.float64).scatter_add_(
            1, drawn, torch.ones(AT_ONCE, n, dtype=torch.float64)
        )
