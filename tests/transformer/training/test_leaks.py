"""Leaks in training: a variant learns with the model's own parameters and sees what it should not."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import BOS_ID, EOS_ID
from transformer.training.leaks import LEAKS

N_WORDS = 11


def fresh() -> Transformer:
    config = TransformerConfig(
        src_vocab_size=N_WORDS,
        tgt_vocab_size=N_WORDS,
        d_model=32,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        d_ff=32,
        max_len=9,
        dropout=0.0,
        norm_position="pre",
        final_norm=True,
    )
    return Transformer(config, torch.Generator().manual_seed(3)).train()


@pytest.mark.parametrize("name", LEAKS)
def test_the_variant_trains_the_models_own_parameters(name: str) -> None:
    model = fresh()
    variant = LEAKS[name].variant(model)
    assert set(variant.state_dict()) == set(model.state_dict())
    assert variant.training
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[BOS_ID, 5, 4]])
    variant(src, tgt).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert type(model) is Transformer


def test_without_the_shift_each_row_reads_its_label() -> None:
    """Padding after a short target stays in place."""
    model = fresh().eval()
    variant = LEAKS["no-shift"].variant(model)
    src = torch.tensor([[4, 5, 6], [7, 8, 0]])
    tgt = torch.tensor([[BOS_ID, 5, 4, 6], [BOS_ID, 9, 0, 0]])
    labels = torch.tensor([[5, 4, 6, EOS_ID], [9, EOS_ID, 0, 0]])
    assert torch.equal(variant(src, tgt), model(src, labels))


def test_without_the_mask_a_row_reads_the_next_token_but_no_padding() -> None:
    model = fresh().eval()
    variant = LEAKS["no-causal-mask"].variant(model)
    src = torch.tensor([[4, 5, 6]])
    rows = [variant(src, torch.tensor([[BOS_ID, word, 0]]))[0, 0] for word in (7, 8)]
    assert not torch.allclose(*rows)
    alone = variant(src, torch.tensor([[BOS_ID, 7]]))[0, 0]
    assert torch.allclose(rows[0], alone, atol=1e-5)


def loss_after(model: Transformer, n_steps: int) -> float:
    """The loss for random targets, which can't be predicted."""
    generator = torch.Generator().manual_seed(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(n_steps):
        words = torch.randint(4, N_WORDS, (32, 4), generator=generator)
        src = torch.randint(4, N_WORDS, (32, 4), generator=generator)
        tgt = functional.pad(words[:, :-1], (1, 0), value=BOS_ID)
        loss = functional.cross_entropy(model(src, tgt)[:, :-1].transpose(1, 2), words[:, :-1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-10:]) / 10


def test_only_a_leak_can_learn_what_was_drawn_at_random() -> None:
    """A sound model can do no better than chance."""
    chance = math.log(N_WORDS - 4)
    assert loss_after(fresh(), 100) > 0.9 * chance
    for name in LEAKS:
        assert loss_after(LEAKS[name].variant(fresh()), 100) < 0.3 * chance, name
