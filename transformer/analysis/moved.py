"""The vectors that an attention moves: each key's value times W_O, before scaling by the weights.

A head's contribution to its sublayer's output is the sum over keys of weight x (v W_O): a large weight on a
key with a short value moves little (Kobayashi et al. 2020, "Attention is Not Only a Weight").
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.model.attention import MultiHeadAttention
from transformer.model.trace import AttentionRecord
from transformer.model.transformer import Transformer


def moved_values(
    model: Transformer, record: AttentionRecord, head: int, sentence: int = 0
) -> NDArray[np.float32] | None:
    """Each key's value times one head's rows of W_O, without the bias: (K, D).

    None in a model that does not transpose heads back before W_O: there no row of W_O belongs to one head.
    """
    if not _module(model, record).transposed:
        return None
    moved: NDArray[np.float32] = through_w_o(model, record, head, sentence).numpy()
    return moved


def moved_lengths(
    model: Transformer, record: AttentionRecord, sentence: int = 0
) -> NDArray[np.float32] | None:
    """The norms of `moved_values` for every head: (H, K)."""
    if not _module(model, record).transposed:
        return None
    lengths = [through_w_o(model, record, head, sentence).norm(dim=-1) for head in range(record.q.shape[1])]
    stacked: NDArray[np.float32] = torch.stack(lengths).numpy()
    return stacked


def _module(model: Transformer, record: AttentionRecord) -> MultiHeadAttention:
    module = model.get_submodule(record.path)
    assert isinstance(module, MultiHeadAttention)
    return module


@torch.inference_mode()
def through_w_o(model: Transformer, record: AttentionRecord, head: int, sentence: int = 0) -> Tensor:
    """`moved_values` of a model that transposes its heads back, as a float32 tensor on the CPU: (K, D)."""
    shared = record.q.shape[1] // record.v.shape[1]  # query heads per value head
    own = slice(head * record.v.shape[-1], (head + 1) * record.v.shape[-1])
    rows = _module(model, record).w_o.weight[:, own].float().cpu()  # (D, d_head)
    return record.v[sentence, head // shared].float() @ rows.T
