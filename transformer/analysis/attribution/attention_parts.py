"""What each token adds to an attention block's output: the sum that value norms and ALTI measure.

With f(j) = sum over heads of weight x (v_j W_O), the block computes, for each query i,

    y_i = g( x_i + sum over j of f_i(j) + b_O ) + beta

g is linear once the norm's mean and scale are those of the run (Kobayashi et al. 2021, arXiv:2109.07152,
section 3; Ferrando et al. 2022, arXiv:2203.04212, equations 5 to 8):

- post-norm: g(z) = gamma (z - mean(z)) / scale, with the recorded scale (no mean is taken off in RMS norms);
- pre-norm and none: g(z) = z. The norm comes before the values, and each value depends on its own token only;
- both and output: g applies to the f(j) alone, with the scale of the norm of the sublayer's output.

v_j has its bias, b_O and beta belong to no token. In a model with parallel sublayers the block is the
attention alone. The feed-forward network mixes no tokens and is left out, as in both papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention_maps import MODULES, Attention, attention_record
from transformer.analysis.moved import through_w_o
from transformer.model.config import TransformerConfig
from transformer.model.normalization import LayerNorm, RMSNorm, UnbiasedLayerNorm
from transformer.model.trace import Trace
from transformer.model.transformer import Transformer

MOST_NUMBERS = 2**24
"""Most numbers of one tensor: 67 MB in float32. Longer texts are computed by blocks of queries."""


class UntransposedError(ValueError):
    """The heads of this model can't be told apart after W_O."""

    def __init__(self) -> None:
        super().__init__(
            "This model does not transpose its heads back before W_O, so no part of a sublayer's output "
            "belongs to one token: value norms, ALTI+ and rollout don't apply. Use the knock-outs or "
            "integrated gradients."
        )


@dataclass(frozen=True)
class AttentionParts:
    """The parts of an attention block's output for some queries of one sentence.

    Attributes:
        stream: (Q, D) what the query's own residual stream adds: g(x_i).
        moved: (Q, K, D) what attention moves from each key: g(f_i(j)).
        output: (Q, D) y, as recorded.
    """

    stream: Tensor
    moved: Tensor
    output: Tensor


def check_transposed(config: TransformerConfig) -> None:
    """Raise UntransposedError for a model that merges its heads untransposed."""
    if config.merge_heads == "untransposed":
        raise UntransposedError


def parts_by_block(
    model: Transformer, trace: Trace, attention: Attention, layer: int, sentence: int = 0
) -> Iterator[AttentionParts]:
    """The parts of one layer's attention block, for all queries in blocks of bounded size.

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    record = attention_record(trace, attention, layer)
    weights = record.weights[sentence].float()  # (H, Q, K)
    heads = head_values(model, trace, attention, layer, sentence)  # (H, K, D)
    before, after = _stream_paths(attention, layer)
    x, y = (trace[path][sentence].float() for path in (before, after))  # (Q, D)
    n_queries, size = weights.shape[1], max(1, MOST_NUMBERS // heads[0].numel())
    for start in range(0, n_queries, size):
        rows = slice(start, start + size)
        moved = torch.einsum("hqk,hkd->qkd", weights[:, rows], heads) * model.config.residual_scale
        yield _folded(model, trace, record.path, sentence, rows, AttentionParts(x[rows], moved, y[rows]))


def head_values(
    model: Transformer, trace: Trace, attention: Attention, layer: int, sentence: int = 0
) -> Tensor:
    """Each key's value times W_O, per head, before the weights: (H, K, D), float32 on the CPU.

    Raises:
        UntransposedError: for a model that merges its heads untransposed.
    """
    check_transposed(model.config)
    record = attention_record(trace, attention, layer)
    n_heads = record.weights.shape[1]
    return torch.stack([through_w_o(model, record, head, sentence) for head in range(n_heads)])


def _stream_paths(attention: Attention, layer: int) -> tuple[str, str]:
    """The paths of the residual stream before and after an attention block."""
    stack = MODULES[attention][0]
    before, after = ("resid_mid", "resid_mid_cross") if attention == "cross" else ("resid_pre", "resid_mid")
    return f"{stack}.layers.{layer}.{before}", f"{stack}.layers.{layer}.{after}"


def _folded(
    model: Transformer, trace: Trace, path: str, sentence: int, rows: slice, parts: AttentionParts
) -> AttentionParts:
    """Apply g, the linearised norm after the sum, where there is one."""
    is_post = model.config.norms_the_stream
    if not is_post and not model.config.norms_outputs:
        return parts
    norm_path = f"{path}_norm" if is_post else f"{path}_post_norm"
    norm = model.get_submodule(norm_path)
    assert isinstance(norm, LayerNorm | UnbiasedLayerNorm | RMSNorm)
    gamma = norm.gamma.detach().float().cpu()
    scale = trace.norm(norm_path).scale[sentence, rows].float()  # (Q, 1)

    def g(z: Tensor, scale: Tensor) -> Tensor:
        centred = z if isinstance(norm, RMSNorm) else z - z.mean(dim=-1, keepdim=True)
        return gamma * centred / scale

    stream = g(parts.stream, scale) if is_post else parts.stream
    return AttentionParts(stream, g(parts.moved, scale[:, None]), parts.output)
