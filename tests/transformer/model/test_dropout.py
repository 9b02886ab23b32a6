import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from transformer.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_a_share_of_p_becomes_zero_and_the_mean_stays(p: float) -> None:
    torch.manual_seed(1)
    x = Dropout(p)(torch.ones(401, 997))  # not a multiple of the numbers per random draw
    assert (x == 0).double().mean().item() == pytest.approx(p, abs=0.004)
    assert x.mean().item() == pytest.approx(1, abs=0.02)
    assert x.unique().tolist() == pytest.approx([0, 1 / (1 - p)], rel=1e-6)


@given(st.floats(0, 1, exclude_max=True))
@example(0.99)
@example(0.999)
@example(1 - 2**-17)  # rounds to a threshold that doesn't fit in 16 bits
@example(0.999999)
@example(math.nextafter(1, 0))
def test_every_p_below_1_is_met(p: float) -> None:
    """The number kept is as expected: within six standard deviations and half a step of 2^-16."""
    n = 2**16
    torch.manual_seed(5)
    x = Dropout(p)(torch.ones(n))
    n_kept = int(x.count_nonzero())
    assert abs(n_kept - n * (1 - p)) <= 6 * math.sqrt(n * p * (1 - p)) + 1
    if n_kept:
        assert x.max().item() == pytest.approx(1 / (1 - p), rel=1e-6)


def test_places_are_independent_of_each_other() -> None:
    """Neighbours share a random draw, but must be dropped independently."""
    torch.manual_seed(2)
    zero = (Dropout(0.5)(torch.ones(100_000)) == 0).double() - 0.5
    for distance in (1, 2, 3, 4, 8):
        assert abs((zero[distance:] * zero[:-distance]).mean().item()) < 0.004


def test_the_gradient_goes_where_the_numbers_went() -> None:
    torch.manual_seed(3)
    x = torch.randn(13, 17, requires_grad=True)
    y = Dropout(0.3)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient == 0, y == 0)
    torch.testing.assert_close(gradient * x, y)


def test_outside_of_training_and_for_p_0_nothing_happens_and_nothing_is_drawn() -> None:
    x, state = torch.randn(5, generator=torch.Generator().manual_seed(0)), torch.get_rng_state()
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert torch.equal(torch.get_rng_state(), state)


def test_a_seed_repeats_it_in_every_precision() -> None:
    kept = []
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        torch.manual_seed(4)
        y = Dropout(0.5)(torch.ones(50, dtype=dtype))
        assert y.dtype == dtype
        kept.append(y != 0)
    assert torch.equal(kept[0], kept[1])
    assert torch.equal(kept[0], kept[2])
