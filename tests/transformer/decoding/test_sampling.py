"""Sampling: the distribution under the settings, and samples from it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from tests.transformer.decoding.requests import ENDLESS, SUPPRESSED, request
from tests.transformer.model.core import BOS_ID, EOS_ID, PAD_ID, random_ids, tiny_transformer
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.sampling import sample, sampling_distribution


def random_logits(seed: int, n: int = 23) -> torch.Tensor:
    return 3 * torch.randn(4, n, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_equals_hugging_face(temperature: float) -> None:
    logits = random_logits(3)
    for top_k, top_p in itertools.product([0, 1, 5, 99], [0.05, 0.7, 0.95, 1.0]):
        theirs = TemperatureLogitsWarper(temperature)(None, logits) if temperature != 1 else logits
        theirs = TopKLogitsWarper(top_k)(None, theirs) if top_k else theirs
        theirs = TopPLogitsWarper(top_p)(None, theirs) if top_p < 1 else theirs
        ours = sampling_distribution(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        assert torch.allclose(ours, theirs.softmax(dim=-1), atol=1e-6)
        assert torch.equal(ours == 0, theirs == -math.inf)


@given(
    seed=st.integers(0, 1000),
    temperature=st.floats(0.05, 20),
    top_k=st.integers(0, 30),
    top_p=st.floats(0.001, 1),
)
def test_rows_sum_to_one_and_the_best_token_stays(
    seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    logits = random_logits(seed)
    shaped = sampling_distribution(
        logits, temperature=temperature, top_k=top_k, top_p=top_p, suppressed_ids=(2,)
    )
    assert torch.allclose(shaped.sum(dim=-1), torch.ones(4), atol=1e-5)
    assert (shaped[:, 2] == 0).all()
    open_logits = logits.index_fill(-1, torch.tensor([2]), -math.inf)
    assert torch.equal(shaped.argmax(dim=-1), open_logits.argmax(dim=-1))
    if top_k:
        assert ((shaped > 0).sum(dim=-1) <= top_k).all()


def test_the_nucleus_is_the_smallest_that_reaches_p() -> None:
    logits = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()
    assert sampling_distribution(logits, top_p=0.74).tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0], abs=1e-6)
    assert sampling_distribution(logits, top_p=0.76).tolist() == pytest.approx(
        [5 / 9, 2.5 / 9, 1.5 / 9, 0], abs=1e-6
    )


def test_ties_are_resolved_by_the_smaller_id() -> None:
    assert sampling_distribution(torch.zeros(5), top_k=2).tolist() == [0.5, 0.5, 0, 0, 0]


@pytest.mark.parametrize(
    "settings",
    [{"temperature": 0.0}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        sampling_distribution(torch.zeros(3), **settings)


def test_a_seed_gives_the_same_targets_again() -> None:
    model, src = tiny_transformer(), random_ids(29, 6, 7)
    drawn = [
        sample(
            model,
            src,
            request(9),
            generator=torch.Generator().manual_seed(seed),
        )
        for seed in (5, 5, 6)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert not {PAD_ID, BOS_ID, EOS_ID} & {token for target in drawn[0] for token in target.ids}


def test_with_top_k_1_it_is_greedy_and_keeps_to_each_row_s_limit() -> None:
    model, src = tiny_transformer(), random_ids(29, 2, 7)
    for asked in (request(9), request([0, 4], ENDLESS)):
        drawn = sample(model, src, asked, generator=torch.Generator(), top_k=1)
        assert drawn == greedy_batch(model, src, asked)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    """A chi-squared test of many first tokens against the model's distribution, sharpened and truncated."""
    model, n = tiny_transformer(), 3000
    src = random_ids(29, 1, 7)
    logits = model(src, torch.tensor([[BOS_ID, 9]]))[0, -1]
    expected = sampling_distribution(logits, temperature=0.8, top_k=6, suppressed_ids=SUPPRESSED)
    drawn = sample(
        model,
        src.expand(n, -1),
        request(1, end_ids=(), prefix=[9]),
        generator=torch.Generator().manual_seed(0),
        temperature=0.8,
        top_k=6,
    )
    assert all(target.ids[0] == 9 for target in drawn)
    counts = torch.bincount(torch.tensor([target.ids[1] for target in drawn]), minlength=len(expected))
    assert (counts[expected == 0] == 0).all()
    drawable = expected > 0
    chi_squared = ((counts - n * expected) ** 2 / (n * expected))[drawable].sum()
    assert chi_squared < 20.5, "5 degrees of freedom: above this once in a thousand draws"
