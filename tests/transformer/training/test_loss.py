import math

import pytest
import torch
from torch.nn import functional

from transformer.training.optimization.loss import count_labels, cross_entropy


def test_without_smoothing_a_sure_right_answer_is_free() -> None:
    logits = torch.zeros(1, 1, 9)
    logits[..., 4] = 1000.0
    assert cross_entropy(logits, torch.tensor([[4]]), smoothing=0.0, pad_id=0).item() == 0
    assert cross_entropy(torch.zeros(1, 1, 9), torch.tensor([[4]]), smoothing=0.1, pad_id=0).item() == (
        pytest.approx(math.log(9))
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_loss_and_its_gradient_are_those_of_pytorch(smoothing: float) -> None:
    """Over more tokens than are processed at once, some of them padding."""
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(7, 29, 13, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 13, (7, 29), generator=generator)
    loss = cross_entropy(logits, labels, smoothing=smoothing, pad_id=0)
    (gradient,) = torch.autograd.grad(3 * loss, logits)
    flat = functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    (expected,) = torch.autograd.grad(3 * flat, logits)
    torch.testing.assert_close(loss, flat)
    torch.testing.assert_close(gradient, expected)
    assert torch.equal(gradient.abs().sum(dim=-1) > 0, labels != 0), "padding teaches nothing"
    assert count_labels(labels, pad_id=0) == (labels != 0).sum()


def test_half_precision_is_summed_in_float32() -> None:
    logits = torch.zeros(1, 3000, 11, dtype=torch.bfloat16)
    labels = torch.full((1, 3000), 4)
    loss = cross_entropy(logits, labels, smoothing=0.1, pad_id=0)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(3000 * math.log(11), rel=1e-6)


def test_nothing_but_padding_is_a_loss_of_zero_without_a_gradient() -> None:
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = cross_entropy(logits, torch.zeros(2, 3, dtype=torch.long), smoothing=0.1, pad_id=0)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 0
    assert not gradient.any()


def test_float16_keeps_small_shares_until_the_loss_is_scaled() -> None:
    """Most probabilities over a vocabulary underflow in float16, but not after scaling."""
    logits = torch.zeros(1, 1000, dtype=torch.float16, requires_grad=True)
    with torch.no_grad():
        logits[0, 4] = 17.0
    (2.0**16 * cross_entropy(logits, torch.tensor([4]), smoothing=0.0, pad_id=0)).backward()
    assert logits.grad is not None
    assert logits.grad.dtype == torch.float16
    expected = 2.0**16 * logits.detach().double().softmax(dim=-1)[0, 5:]
    torch.testing.assert_close(logits.grad[0, 5:].double(), expected, rtol=1e-3, atol=0)
