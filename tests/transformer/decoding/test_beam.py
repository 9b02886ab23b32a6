"""Beam search against an exhaustive search, a search without a cache, and Hugging Face's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.peers.marian import generate, marian_copy
from tests.transformer.decoding.requests import SUPPRESSED, request
from tests.transformer.model.core import BOS_ID, EOS_ID, PAD_ID, random_ids, tiny_transformer
from transformer.decoding.beam import BeamSearch, Hypothesis, beam_search, length_penalty
from transformer.decoding.greedy import greedy_batch
from transformer.model.transformer import Transformer

SMALL = {"src_vocab_size": 11, "tgt_vocab_size": 7}


def search(model: Transformer, src: Tensor | None, **changes: object) -> list[list[Hypothesis]]:
    asked: dict[str, Any] = {
        name: changes.pop(name) for name in ("end_ids", "suppressed_ids", "prefix") if name in changes
    }
    settings: dict[str, Any] = {"max_new_tokens": 6, "beam_size": 4, "alpha": 0.0} | changes
    return beam_search(model, src, request(settings.pop("max_new_tokens"), **asked), **settings)


def sharp(seed: int) -> Transformer:
    """A tiny model with probabilities far from uniform."""
    model = tiny_transformer(seed, **SMALL)
    with torch.no_grad():
        model.generator.weight.mul_(4)
    return model


@torch.no_grad()
def totals(model: Transformer, src: Tensor, targets: Sequence[Sequence[int]]) -> list[float]:
    """Log-probabilities of whole targets of equal length, by one forward without a cache."""
    ids = torch.tensor(targets)  # (N, T)
    before = torch.nn.functional.pad(ids[:, :-1], (1, 0), value=BOS_ID)
    logits = model(src.expand(len(ids), -1), before).double()
    logits[..., list(SUPPRESSED)] = -math.inf
    totalled: list[float] = logits.log_softmax(dim=-1).gather(-1, ids[..., None]).sum(dim=(1, 2)).tolist()
    return totalled


def every_target(
    model: Transformer, src: Tensor, longest: int, alpha: float
) -> list[tuple[float, tuple[int, ...]]]:
    """All targets that end within `longest` tokens, best first."""
    words = [i for i in range(SMALL["tgt_vocab_size"]) if i not in (*SUPPRESSED, EOS_ID)]
    found: list[tuple[float, tuple[int, ...]]] = []
    for n in range(longest):
        every = list(itertools.product(words, repeat=n))
        totalled = totals(model, src, [(*ids, EOS_ID) for ids in every])
        scores = [score / length_penalty(n + 1, alpha) for score in totalled]
        found += zip(scores, every, strict=True)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed, alpha", [(0, 0.0), (1, 0.6), (2, 1.0)])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all_targets(seed: int, alpha: float) -> None:
    model, src, longest = sharp(seed), random_ids(11, 1, 5, seed=seed), 4
    n_best = 12
    found = search(model, src, max_new_tokens=longest, beam_size=400, alpha=alpha, n_best=n_best)[0]
    expected = every_target(model, src, longest, alpha)[:n_best]
    assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
    for hypothesis, (score, _) in zip(found, expected, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-5)
        assert hypothesis.log_probability == pytest.approx(
            score * length_penalty(len(hypothesis.ids) + 1, alpha), abs=1e-5
        )
        assert hypothesis.ending == "end"


@pytest.mark.parametrize("seed", range(3))
def test_a_narrow_beam_is_the_definition_without_a_cache(seed: int) -> None:
    """Keep the best K that don't end, finish those that end among the best K, always by full forwards."""
    model, src, size, limit = sharp(seed), random_ids(11, 1, 6, seed=seed), 3, 7
    words = [i for i in range(SMALL["tgt_vocab_size"]) if i not in SUPPRESSED]
    followed: list[tuple[int, ...]] = [()]
    finished: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(limit):
        longer = [(*ids, word) for ids in followed for word in words]
        ranked = sorted(zip(totals(model, src, longer), longer, strict=True), reverse=True)
        finished += [one for one in ranked[:size] if one[1][-1] == EOS_ID]
        followed = [ids for _, ids in ranked if ids[-1] != EOS_ID][:size]
        (best,) = totals(model, src, followed[:1])
        if finished and max(finished)[0] >= best:
            break
    (found,) = search(model, src, beam_size=size, max_new_tokens=limit)[0]
    if finished:
        assert (*found.ids, EOS_ID) == max(finished)[1]
    else:
        assert found.ending == "limit"
        assert found.ids == followed[0]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_is_its_sentences_one_by_one(beam_size: int) -> None:
    """Neither padding nor sentences that finish early change anything."""
    model = sharp(1)
    rows = [random_ids(11, 1, n, seed=n) for n in (7, 3, 5, 2)]
    src = torch.full((len(rows), 7), PAD_ID)
    for i, row in enumerate(rows):
        src[i, : row.shape[1]] = row
    n_best = min(2, beam_size)
    together = search(model, src, beam_size=beam_size, n_best=n_best, alpha=1.0)
    for found, row in zip(together, rows, strict=True):
        (alone,) = search(model, row, beam_size=beam_size, n_best=n_best, alpha=1.0)
        assert [one.ids for one in found] == [one.ids for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-5)


@pytest.mark.parametrize("ends", [[], [EOS_ID]])
def test_each_row_of_a_batch_keeps_to_its_own_limit(ends: list[int]) -> None:
    """Without an end token every target is as long as its own limit."""
    model, limits = sharp(2), [2, 6, 3, 50]
    src = random_ids(11, len(limits), 5, seed=1)
    for prefix in ([], [4, 5]):
        settings = {"end_ids": ends, "prefix": prefix, "n_best": 2, "alpha": 1.0}
        together = search(model, src, **settings, max_new_tokens=limits)
        for found, row, limit in zip(together, src, limits, strict=True):
            (alone,) = search(model, row[None], **settings, max_new_tokens=limit)
            assert [(one.ids, one.end_id) for one in found] == [(one.ids, one.end_id) for one in alone]
            assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-5)
            assert ends or {len(one.ids) for one in found} == {min(len(prefix) + limit, 13)}


@pytest.mark.parametrize("seed", range(2))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    model, src = sharp(seed), random_ids(11, 3, 5, seed=seed)
    greedy = greedy_batch(model, src, request(9))
    found = search(model, src, beam_size=1, max_new_tokens=9)
    assert [best.ids for best, *_ in found] == [target.ids for target in greedy]
    assert [best.ending for best, *_ in found] == [target.ending for target in greedy]


def test_it_continues_a_prefix() -> None:
    """A prefix is part of the target: its length and its probability count."""
    model, src, prefix = sharp(2), random_ids(11, 1, 5), [4, 5]
    (found,) = search(model, src, prefix=prefix, beam_size=300, alpha=1.0, max_new_tokens=3)[0]
    expected = max(
        (totals(model, src, [(*prefix, *ids, EOS_ID)])[0] / length_penalty(len(ids) + 3, 1.0), ids)
        for n in range(3)
        for ids in itertools.product([3, 4, 5, 6], repeat=n)
    )
    assert found.ids == (*prefix, *expected[1])
    assert found.score == pytest.approx(expected[0], abs=1e-5)


def test_more_alpha_gives_longer_targets() -> None:
    model, src = sharp(5), random_ids(11, 8, 6)
    lengths = [
        sum(len(best.ids) for best, *_ in search(model, src, alpha=alpha, beam_size=6, max_new_tokens=12))
        for alpha in (0.0, 3.0)
    ]
    assert lengths[0] < lengths[1]


def test_at_the_limit_unfinished_hypotheses_fill_up() -> None:
    model, src = sharp(0), random_ids(11, 1, 5)
    (found,) = beam_search(model, src, request(5, end_ids=()), beam_size=3, n_best=3)
    assert [len(one.ids) for one in found] == [5, 5, 5]
    assert not any(one.ending == "end" for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.parametrize("beam_size, n_best", [(0, 1), (2, 3), (2, 0)])
def test_impossible_beams_are_refused(beam_size: int, n_best: int) -> None:
    with pytest.raises(ValueError, match="hypotheses, not"):
        BeamSearch(sharp(0), None, request(3), beam_size=beam_size, n_best=n_best)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_hugging_face_finds_the_same(beam_size: int) -> None:
    """MarianMTModel.generate with the same weights, token for token."""
    model = tiny_transformer(3, d_model=32, n_heads=4, final_norm=False, norm_position="post")
    theirs = marian_copy(model)
    src = random_ids(model.config.src_vocab_size, 5, 7)
    src[1, 4:] = PAD_ID
    src[3, 2:] = PAD_ID
    suppressed = [*SUPPRESSED, EOS_ID]
    generated = generate(theirs, src, beam_size=beam_size, n_tokens=8, suppressed_ids=suppressed)
    found = search(model, src, beam_size=beam_size, max_new_tokens=8, suppressed_ids=suppressed)
    assert [list(best.ids) for best, *_ in found] == generated
