from collections.abc import Callable
from functools import partial

import pytest

from transformer.training.optimization.schedule import cosine_rate, inverse_root_rate, linear_rate, paper_rate
from transformer.training.plan import UpdatePlan

Rate = Callable[[int], float]
PAPER = partial(paper_rate, d_model=512, warmup_steps=4000)
INVERSE_ROOT = partial(inverse_root_rate, peak=0.5, warmup_steps=10)
LINEAR = partial(linear_rate, peak=0.5, warmup_steps=10, total_steps=100)
COSINE = partial(cosine_rate, peak=0.5, warmup_steps=10, total_steps=100)


def test_the_papers_rate_by_hand() -> None:
    """Equation 3: 512^-0.5 * 4000^-0.5 at the peak, a quarter at 1/4 of the warmup, half at 4 times it."""
    assert PAPER(4000) == pytest.approx(0.000698771)
    assert PAPER(1000) == pytest.approx(PAPER(4000) / 4)
    assert PAPER(16000) == pytest.approx(PAPER(4000) / 2)


@pytest.mark.parametrize("rate", [INVERSE_ROOT, LINEAR, COSINE])
def test_rates_rise_in_equal_steps_to_the_peak_and_fall_from_there(rate: Rate) -> None:
    rates = [rate(step) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([0.05 * step for step in range(1, 11)])
    assert max(rates) == rates[9]
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert min(rates) > 0


@pytest.mark.parametrize("rate", [LINEAR, COSINE])
def test_a_known_end_is_near_zero(rate: Rate) -> None:
    assert 0 < rate(100) < 0.01


def test_half_way_down() -> None:
    assert COSINE(55) == pytest.approx(LINEAR(55), abs=0.01), "a cosine crosses the line in the middle"
    assert COSINE(30) > LINEAR(30)
    assert COSINE(80) < LINEAR(80)
    assert INVERSE_ROOT(40) == pytest.approx(0.25)


def test_a_plan_has_all_four() -> None:
    plans = {name: UpdatePlan(schedule=name, peak=0.5, warmup=10, steps=100) for name in ("linear", "cosine")}
    assert plans["linear"].rate(64)(70) == LINEAR(70)
    assert plans["cosine"].rate(64)(70) == COSINE(70)
    assert UpdatePlan(schedule="inverse-root", peak=0.5, warmup=10).rate(64)(70) == INVERSE_ROOT(70)
    assert UpdatePlan(schedule="paper", warmup=4000).rate(512)(70) == PAPER(70)
