"""Growth of the residual stream along the layers of a stack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.model.config import TransformerConfig
from transformer.model.trace import ResidualRecord, Stack, Trace

POINTS = {
    "resid_pre": "input",
    "resid_mid": "self-attention",
    "resid_mid_cross": "cross-attention",
    "resid_post": "feed-forward",
}


def stream_lengths(trace: Trace, stack: Stack) -> tuple[list[str], NDArray[np.float32]]:
    """Names of the P points along a stack, and each token's vector norm there: (P, T).

    A layer's input is the previous layer's output, so only the first layer's input is a separate point.
    """
    records = [r for r in trace.residual(stack) if r.name != "resid_pre" or r.layer == 0]
    lengths = np.stack([record.value[0].norm(dim=-1).numpy() for record in records])
    return [_point(record) for record in records], lengths


def addition_path(config: TransformerConfig, sublayer: str) -> str:
    """The path of a sublayer's addition to the residual stream, before `residual_scale` multiplies it.

    Args:
        config: the model's configuration.
        sublayer: path of the sublayer, such as "decoder.layers.0.self_attn".
    """
    return f"{sublayer}_post_norm.result" if config.norms_outputs else f"{sublayer}.out"


def added_to_stream(trace: Trace, config: TransformerConfig, sublayer: str) -> Tensor:
    """A sublayer's addition to the residual stream: (B, T, D)."""
    return trace[addition_path(config, sublayer)] * config.residual_scale


def _point(record: ResidualRecord) -> str:
    point = POINTS[record.name]
    return point if record.name == "resid_pre" else f"layer {record.layer} {point}"
