"""ALTI and ALTI+: shares by how near each token's part is to the block's output.

Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer" (ALTI,
arXiv:2203.04212, section 3), and "Towards Opening the Black Box of Neural Machine Translation" (ALTI+ for
encoder-decoders, arXiv:2205.11631, section 3).
"""

from __future__ import annotations

import torch
from torch import Tensor

from transformer.analysis.attention_maps import Attention
from transformer.analysis.attribution.attention_parts import AttentionParts, check_transposed, parts_by_block
from transformer.analysis.attribution.mixing import InputShares, Layer, input_shares
from transformer.loaded import LoadedModel
from transformer.run import Run


def alti(loaded: LoadedModel, run: Run) -> InputShares:
    """The shares of source and prefix in each position's last vector, before any final norm.

    Norms are folded in as `attention_parts` says, with the scales of this run. Feed-forward networks are
    taken to keep the shares of their token.

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    check_transposed(loaded.model.config)

    def shares(attention: Attention, layer: int) -> Layer:
        return layer_shares(loaded, run, attention, layer)

    return input_shares(run.trace, shares)


def layer_shares(loaded: LoadedModel, run: Run, attention: Attention, layer: int) -> Layer:
    """The shares within one attention block: (Q, K), for cross-attention (Q, K + 1) with the stream last."""
    blocks, start = [], 0
    for parts in parts_by_block(loaded.model, run.trace, attention, layer):
        blocks.append(_shares(_with_stream(parts, attention, start), parts.output))
        start += len(parts.output)
    return torch.cat(blocks).double().numpy()


def _with_stream(parts: AttentionParts, attention: Attention, start: int) -> Tensor:
    """The parts with the residual stream: added to the query's own token, or as a last one."""
    if attention == "cross":
        return torch.cat([parts.moved, parts.stream[:, None]], dim=1)
    rows = torch.arange(len(parts.stream))
    parts.moved[rows, start + rows] += parts.stream
    return parts.moved


def _shares(parts: Tensor, output: Tensor) -> Tensor:
    """Parts (Q, K, D) of an output (Q, D) -> (Q, K): max(0, |y| - |y - part|), normalised; L1 norms.

    Where no part is nearer to the output than zero is, the nearest one has it all.
    """
    distances = (output[:, None] - parts).double().norm(p=1, dim=-1)
    nearness = (output.double().norm(p=1, dim=-1, keepdim=True) - distances).clamp(min=0)
    total = nearness.sum(dim=-1, keepdim=True)
    nearest = torch.nn.functional.one_hot(distances.argmin(dim=-1), parts.shape[1]).to(nearness)
    return torch.where(total > 0, nearness / total, nearest)
