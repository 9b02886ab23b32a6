"""Models whose weights are written by hand, so that it is known what each head does."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer


def random_model(**choices: Any) -> Transformer:
    """A model without norms, biases or factors, so that parts can have places of their own in the stream."""
    bare = {"norm_position": "none", "positions": "learned", "embedding_scale": False, "bias": False}
    config = TransformerConfig.from_dict(bare | choices)
    return Transformer(config, torch.Generator().manual_seed(0))


@torch.no_grad()
def blank_model(**choices: Any) -> Transformer:
    """A `random_model` whose weights are all 0."""
    model = random_model(**choices)
    for parameter in model.parameters():
        parameter.zero_()
    return model


@torch.no_grad()
def plant(attention: nn.Module, head: int, query: Tensor, key: Tensor, value: Tensor, out: Tensor) -> None:
    """Let a head look where what it reads as a query equals what it reads as a key, and move values to out.

    Each matrix has one row per item (token or position): the vector of the stream that has it. The query's
    are as long as the score shall be large.
    """
    assert isinstance(attention, MultiHeadAttention)
    rows = slice(head * attention.d_head, (head + 1) * attention.d_head)
    for module, read in ((attention.w_q, query), (attention.w_k, key), (attention.w_v, value)):
        module.weight[rows] = 0
        module.weight[rows][: len(read)] = read
    attention.w_o.weight[:, rows] = 0
    attention.w_o.weight[:, rows][:, : len(out)] = out.T
